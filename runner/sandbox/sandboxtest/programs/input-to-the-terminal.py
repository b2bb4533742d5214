TIOCSTI, TIOCLINUX, TIOCSCTTY, TIOCCONS, FS_IOC_SETFLAGS, BLKFLSBUF, FITRIM, FIFREEZE, KDSKBENT = 0x5412, 0x541c, 0x540e, 0x541d, 0x40086602, 0x1261, 0xc0185879, 0xc0045877, 0x4b47
TIOCSPTLCK, TIOCGPTN, TIOCGPTPEER = 0x40045431, 0x80045430, 0x5441
value = ctypes.create_string_buffer(b"x" + bytes(63))
def push(fd, where, **more):
    for name, number in {"TIOCSTI": TIOCSTI, "TIOCLINUX": TIOCLINUX, "TIOCCONS": TIOCCONS, "KDSKBENT": KDSKBENT, "TIOCSTI with high bits": TIOCSTI | 1 << 32, **more}.items():
        if syscall(16, 29, fd, number, value) >= 0: leak(f"{name} on {where}")
for fd in (0, 1, 2, 3): push(fd, fd, TIOCSCTTY=TIOCSCTTY)
def terminal():
    """Both ends of a terminal, where one can be had."""
    for path in ("/dev/ptmx", "/dev/pts/ptmx"):
        try: master = os.open(path, os.O_RDWR | os.O_NOCTTY)
        except OSError: continue
        number = ctypes.create_string_buffer(4)
        syscall(16, 29, master, TIOCSPTLCK, number)
        slave = syscall(16, 29, master, TIOCGPTPEER, os.O_RDWR | os.O_NOCTTY)
        if slave >= 0: return master, slave
        if syscall(16, 29, master, TIOCGPTN, number) < 0: continue
        try: return master, os.open(f"/dev/pts/{int.from_bytes(number.raw, 'little')}", os.O_RDWR | os.O_NOCTTY)
        except OSError: pass
ends = terminal()
print("a terminal:", ends and os.isatty(ends[1]), flush=True)
if ends and os.fork() == 0:  # only one's own, the controlling one, takes input from anybody
    os.setsid(); syscall(16, 29, ends[1], TIOCSCTTY, 0)
    push(ends[1], "a terminal"); push(ends[0], "its other end"); os._exit(0)
if ends and os.wait()[1] != 0: print("nothing was pushed"); sys.exit(1)
open("f", "w").close()
for path in ("f", ".", "/mcp/servers", "/workspace/servers", "/"):
    try: fd = os.open(path, os.O_RDONLY)
    except OSError: continue
    for name, number, data in (("immutable", FS_IOC_SETFLAGS, 0x10), ("append only", FS_IOC_SETFLAGS, 0x20), ("freeze", FIFREEZE, 0), ("trim", FITRIM, 0)):
        if syscall(16, 29, fd, number, ctypes.create_string_buffer(data.to_bytes(8, "little") + bytes(56))) >= 0: leak(f"{name} on {path}")
print("checked")
