# Whoever counts may not be let in, and what is counted moves.
import threading
print("running", flush=True)
os.mkdir("a"); os.mkdir("a/b"); fd = os.open("a/b", os.O_RDONLY); os.chmod("a", 0)
stop = False
def move():
    i = 0
    while not stop:
        try: os.mkdir(f"m{i}"); os.rename(f"m{i}", "moved"); os.rmdir("moved")
        except OSError: pass
        i += 1
threading.Thread(target=move, daemon=True).start()
n = 0
try:
    for n in range(60):
        f = os.open(f"f{n}", os.O_CREAT | os.O_WRONLY, 0, dir_fd=fd)
        for _ in range(4): os.write(f, b"x" * (1 << 20))
        os.close(f); time.sleep(0.03)
    time.sleep(10)
    leak("MiB in a locked folder", 4 * n)
except OSError as error: print(error.strerror)
stop = True
print("checked")
