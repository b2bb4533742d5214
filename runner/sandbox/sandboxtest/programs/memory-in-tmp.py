print("running", flush=True)
written = 0
try:
    with open("/tmp/big", "wb") as f:
        while written < 200 << 20: written += f.write(b"x" * (1 << 20))
except OSError as error: print(error.strerror)
if written > 40 << 20: leak("written to /tmp", written)
n = 0
try:
    until = time.monotonic() + 4
    for n in range(200_000):
        if time.monotonic() > until: raise OSError("slow enough")
        os.close(os.open(f"/tmp/f{n}", os.O_CREAT | os.O_WRONLY))
    leak("empty files in /tmp", n)
except OSError: pass
print("checked")
