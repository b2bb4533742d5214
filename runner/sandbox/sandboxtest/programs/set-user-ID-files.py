import struct
open("f", "w").close()
def made(mode): os.close(os.open("g", os.O_CREAT | os.O_WRONLY, mode)); return oct(os.stat("g").st_mode & 0o6000) if os.stat("g").st_mode & 0o6000 else 1 / 0
def unnamed(mode): os.close(os.open(".", os.O_TMPFILE | os.O_WRONLY, mode))
for mode in (0o4755, 0o2755, 0o6777):
    for name, f in {"chmod": lambda: os.chmod("f", mode), "fchmod": lambda: os.fchmod(os.open("f", os.O_RDWR), mode), "open": lambda: made(mode), "unnamed": lambda: unnamed(mode), "mknod": lambda: os.mknod("h", 0o100000 | mode)}.items():
        attempt(f"{name} {mode:o}", f)
    if syscall(452, 452, -100, b"f", mode, 0) >= 0: leak("fchmodat2", oct(mode))
    how = ctypes.create_string_buffer(struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, mode, 0))
    if syscall(437, 437, -100, b"i%o" % mode, how, 24) >= 0: leak("openat2", oct(mode))
    if platform.machine() == "x86_64" and syscall(85, 0, b"j%o" % mode, mode) >= 0: leak("creat", oct(mode))
attempt("capabilities of a file", lambda: os.setxattr("f", "security.capability", struct.pack("<5I", 0x02000001, 0xffffffff, 0, 0xffffffff, 0)))
attempt("capabilities of a file, by user", lambda: os.setxattr("f", "security.capability", struct.pack("<6I", 0x03000001, 0xffffffff, 0, 0xffffffff, 0, 0)))
for name in ("trusted.x", "trusted.overlay.opaque"): attempt(name, lambda: os.setxattr("f", name, b"x"))
attempt("root's file", lambda: os.chown("f", 0, 0))
attempt("group of root", lambda: os.chown("f", -1, 0))
for name, kind, dev in (("null", 0o20666, (1, 3)), ("memory", 0o20666, (1, 1)), ("disk", 0o60666, (8, 0)), ("virtual disk", 0o60666, (254, 0)), ("terminal", 0o20666, (4, 0))):
    attempt("device " + name, lambda: os.mknod("d", kind, os.makedev(*dev)))
os.chmod("f", 0o1755)
print("checked")
