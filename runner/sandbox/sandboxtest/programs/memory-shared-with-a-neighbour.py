for name, call in {
  "shared memory": (29, 194, 0x4d43, 4096, 0), "message queue": (68, 186, 0x4d43, 0), "semaphores": (64, 190, 0x4d43, 1, 0), "POSIX queue": (240, 180, b"neighbour", 0, 0, 0),
  "key": (250, 219, 10, -4, b"user", b"neighbour", 0), "asked for key": (249, 218, b"user", b"neighbour", 0, -4),
}.items():
    got = syscall(*call)
    if got >= 0: leak(name, got)
for identifier in range(0, 64):
    got = syscall(30, 196, identifier, 0, 0o10000)
    if got >= 0: leak("attached segment", identifier)
for f in ("/proc/sysvipc/shm", "/proc/sysvipc/msg", "/proc/keys"):
    try: lines = open(f).readlines()
    except OSError: continue
    if any("neighbour" in line or "19779" in line for line in lines): leak(f, lines)
print("checked")
