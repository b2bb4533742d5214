import stat
for n in sorted(map(int, os.listdir("/proc/self/fd"))):
    try: target, st = os.readlink(f"/proc/self/fd/{n}"), os.fstat(n)
    except OSError: continue
    if n > 2 and not target.startswith(("socket:", "/proc/", "anon_inode:", "pipe:", "/mcp/guest", "host:[")): leak(n, target)
    if n <= 2 and not target.startswith(("pipe:", "socket:", "/dev/null", "host:[")): leak(n, target)
    if stat.S_ISDIR(st.st_mode) and not target.startswith("/proc"):
        attempt(f"above descriptor {n}", lambda: os.stat("../../../../../..@CANARY@", dir_fd=n))
for n in range(3, 300):  # whatever the kernel shows: what a descriptor gives, not what it is called
    for read in (lambda: os.pread(n, 100, 0), lambda: os.read(os.open(f"/proc/self/fd/{n}", os.O_RDONLY | os.O_NONBLOCK), 100)):
        try:
            if b"canary-" in read(): leak("the canary by descriptor", n)
        except OSError: pass
    attempt(f"by descriptor {n}", lambda: open(f"/proc/self/fd/{n}/../../../../../..@CANARY@").read())
attempt("terminal", lambda: open("/dev/tty"))
print("checked")
