TIOCSTI, TIOCLINUX, TIOCSCTTY, TIOCCONS, FS_IOC_SETFLAGS, BLKFLSBUF, FITRIM, FIFREEZE, KDSKBENT = 0x5412, 0x541c, 0x540e, 0x541d, 0x40086602, 0x1261, 0xc0185879, 0xc0045877, 0x4b47
value = ctypes.create_string_buffer(b"x" + bytes(63))
for fd in (0, 1, 2, 3):
    for name, number in {"TIOCSTI": TIOCSTI, "TIOCLINUX": TIOCLINUX, "TIOCSCTTY": TIOCSCTTY, "TIOCCONS": TIOCCONS, "KDSKBENT": KDSKBENT, "TIOCSTI with high bits": TIOCSTI | 1 << 32}.items():
        if syscall(16, 29, fd, number, value) >= 0: leak(f"{name} on {fd}")
open("f", "w").close()
for path in ("f", ".", "/mcp/servers", "/workspace/servers", "/"):
    try: fd = os.open(path, os.O_RDONLY)
    except OSError: continue
    for name, number, data in (("immutable", FS_IOC_SETFLAGS, 0x10), ("append only", FS_IOC_SETFLAGS, 0x20), ("freeze", FIFREEZE, 0), ("trim", FITRIM, 0)):
        if syscall(16, 29, fd, number, ctypes.create_string_buffer(data.to_bytes(8, "little") + bytes(56))) >= 0: leak(f"{name} on {path}")
print("checked")
