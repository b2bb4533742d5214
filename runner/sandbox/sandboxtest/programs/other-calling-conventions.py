# A kernel for 64 bits answers calls for 32 bits too, by other numbers, and those of x32: a filter may forget them.
import mmap
def run(code):
    pid = os.fork()
    if pid == 0:
        m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        m.write(code)
        os._exit(7 if ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))() > 0 else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
if platform.machine() == "x86_64":
    try:
        if run(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3") == 7: leak("int 0x80")  # getpid
        if run(b"\xb8\x27\x00\x00\x40\x0f\x05\xc3") == 7: leak("x32")  # getpid with x32's bit
    except OSError: pass  # no such memory to be had
# A filter may end whoever makes such a call, so that a child makes it.
for name, call in {"x32 ptrace": (0x40000000 + 521, 1000, 0, 0, 0, 0), "x32 mount": (0x40000000 + 165, 1000, b"x", b"/tmp", b"tmpfs", 0, 0), "from the future": (600, 600, 0), "far future": (0x7ffffff, 0x7ffffff, 0)}.items():
    pid = os.fork()
    if pid == 0: os._exit(7 if syscall(*call) >= 0 else 0)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7: leak(name)
print("checked")
