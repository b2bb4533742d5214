flags = {"mount": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000, "pid": 0x20000000, "net": 0x40000000, "time": 0x80}
def child(f):  # what succeeds must not change this process
    pid = os.fork()
    if pid == 0: os._exit(f())
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
for name, flag in flags.items():
    for more, extra in {"": 0, " in a user namespace": 0x10000000}.items():
        if child(lambda: 1 if syscall(272, 97, flag | extra) == 0 else 0): leak("unshare " + name + more)
    got = syscall(56, 220, flag | 17, 0, 0, 0, 0) if name != "time" else -1
    if got == 0: os._exit(0)
    if got > 0: leak("clone " + name); os.waitpid(got, 0)
for ns in os.listdir("/proc/self/ns") if os.path.isdir("/proc/self/ns") else []:
    for pid in ("1", "self", str(os.getppid())):
        try: fd = os.open(f"/proc/{pid}/ns/{ns}", os.O_RDONLY)
        except OSError: continue
        if syscall(308, 268, fd, 0) == 0: leak(f"setns {pid} {ns}")
        if syscall(16, 29, fd, 0xb702) >= 0: leak(f"parent of {ns}")  # NS_GET_PARENT
        os.close(fd)
arguments = ctypes.create_string_buffer(int.to_bytes(0x10000000, 8, "little") + bytes(24) + int.to_bytes(17, 8, "little") + bytes(48))
got = syscall(435, 435, arguments, 88)
if got == 0: os._exit(0)
if got > 0: leak("clone3 user")
print("checked")
