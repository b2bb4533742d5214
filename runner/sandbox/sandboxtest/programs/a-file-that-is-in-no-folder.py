# Removed while it is open, it takes its space, and a walk through the folder does not see it.
print("running", flush=True)
n = 0
try:
    for i in range(12):
        f = open(f"gone{i}", "wb", buffering=0)
        os.unlink(f"gone{i}") if i % 2 else os.rename(f"gone{i}", "kept")
        globals()[f"keep{i}"] = f
        if i % 2 == 0: os.unlink("kept")
        for _ in range(16): n += f.write(b"x" * (1 << 20))
        time.sleep(0.1)
    time.sleep(10)
    leak("bytes in removed files", n)
except OSError as error: print(error.strerror)
print("checked")
