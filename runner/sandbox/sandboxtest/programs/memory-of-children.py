# No process alone is over the limit.
pids = []
told, tell = os.pipe()
for i in range(8):
    pids.append(os.fork())
    if pids[-1] == 0:
        keep = bytearray(40_000_000)
        for at in range(0, len(keep), 4096): keep[at] = 1
        os.close(tell)
        time.sleep(60); os._exit(0)
os.close(tell)
print("running", flush=True)
os.read(told, 1)  # ends when each of them is full, or gone
for _ in range(100):  # whoever is over the limit may be ended for it
    if any(os.waitpid(pid, os.WNOHANG) != (0, 0) for pid in pids): break
    time.sleep(0.1)
else: leak("320 MB in eight processes")
print("checked")
