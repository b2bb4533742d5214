# Goes before every program of the suite. A program tries what is forbidden and prints a line with LEAK for what worked.
import ctypes, errno, os, platform, sys, time

def leak(what, detail=""):
    print("LEAK", what, repr(detail)[:200], flush=True)

def attempt(what, f, *args):
    """Do what must be refused."""
    try:
        got = f(*args)
    except Exception as error:
        return error
    leak(what, got)

def syscall(amd64, arm64, *args):
    """Make a raw system call; return its result, or the error number as a negative one."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    ctypes.set_errno(0)
    got = libc.syscall(ctypes.c_long(amd64 if platform.machine() == "x86_64" else arm64),
        *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    return -ctypes.get_errno() if got == -1 else got

def refused(calls):
    """Make calls that the kernel must not even look at: {name: (number on amd64, on arm64, arguments…)}."""
    for name, call in calls.items():
        got = syscall(*call)
        if got not in (-errno.EPERM, -errno.ENOSYS):
            leak(name, os.strerror(-got) if got < 0 else got)

