# Pipes, sockets and pages of tables are nobody's memory, and the machine's all the same.
import resource, socket, mmap
print("running", flush=True)
pipes = 0
for child in range(20):
    pid = os.fork()
    if pid: continue
    held = []
    try:
        while True:
            r, w = os.pipe(); held += [r, w]
            os.set_blocking(w, False)
            try:
                while True: os.write(w, b"x" * 65536)
            except BlockingIOError: pass
    except OSError: pass
    time.sleep(20); os._exit(0)
sparse = []
try:
    for i in range(512):  # one page in each 2 MiB: 4 KiB of page tables for each
        m = mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); sparse.append(m)
        for at in range(0, 1 << 30, 1 << 21): m[at] = 1
except (OSError, ValueError, MemoryError): pass
time.sleep(2)
print("checked")
