# No process alone is over the limit.
pids = []
for i in range(8):
    pids.append(os.fork())
    if pids[-1] == 0:
        keep = bytearray(40_000_000)
        for at in range(0, len(keep), 4096): keep[at] = 1
        time.sleep(20); os._exit(0)
print("running", flush=True)
time.sleep(1.5)
if all(os.waitpid(pid, os.WNOHANG) == (0, 0) for pid in pids): leak("320 MB in eight processes")
print("checked")
