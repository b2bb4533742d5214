"""The first program in a container: connects to the host and becomes the guest's interpreter, with the connection open.

The guest finds the connection and a pipe with the secret as descriptors. Environment and arguments can be read from
/proc as long as a process lives, by the script too.

In between it gives up making Unix sockets, for itself and all that comes after it: a workspace may hold socket files on
which other programs of the host listen. The container's own filter cannot forbid it, because this one connection has
to be made from inside. It gives up openat2 too, whose arguments no filter can see: with it a script could leave set-user-ID
files in the workspace. Engines use it themselves as they start a container, so their filter has to let it through.
"""

import _socket  # a tenth of what socket takes to load
import ctypes
import os
import struct
import sys

EXIT_LOST = 125  # what the guest programs use when there is no host
BRIDGE_FD, SECRET_FD = 3, 4  # where they find what they are given

KEPT = ("PATH", "HOME", "LANG")  # of the environment

PR_SET_SECCOMP = 22
SECCOMP_MODE_FILTER = 2
RET_ALLOW, RET_EPERM, RET_ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06  # BPF: load a word, compare, return
NR, ARCH, ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data; both machines have the low half first
# By machine: its AUDIT_ARCH number and that of socket. Other calling conventions are closed by the container's filter.
MACHINES = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
OPENAT2 = 437  # on both


class Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def forbid():
    arch, socket = MACHINES[os.uname().machine]
    code = b"".join(
        struct.pack("=HBBI", *instruction)
        for instruction in (
            (LOAD, 0, 0, ARCH),
            (JUMP_EQUAL, 0, 5, arch),
            (LOAD, 0, 0, NR),
            (JUMP_EQUAL, 5, 0, OPENAT2),
            (JUMP_EQUAL, 0, 2, socket),
            (LOAD, 0, 0, ARGUMENT),
            (JUMP_EQUAL, 1, 0, _socket.AF_UNIX),
            (RETURN, 0, 0, RET_ALLOW),
            (RETURN, 0, 0, RET_EPERM),
            (RETURN, 0, 0, RET_ENOSYS),
        )
    )
    libc = ctypes.CDLL(None, use_errno=True)
    program = Program(len(code) // 8, code)
    zero = ctypes.c_ulong(0)
    if libc.prctl(PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), ctypes.byref(program), zero, zero) != 0:
        raise OSError(ctypes.get_errno(), "forbid Unix sockets and openat2")


def bound(limits):
    """Set the limits of each process, of the form name=soft:hard,...: for engines that do not."""
    import resource  # seldom needed

    for limit in limits.split(","):
        name, _, values = limit.partition("=")
        which = getattr(resource, "RLIMIT_" + name.upper())
        _, most = resource.getrlimit(which)
        soft, hard = (int(v) if most < 0 else min(int(v), most) for v in values.split(":"))
        for process in (1, 0):  # the engine's init, which is the script's own user, and this one
            resource.prlimit(process, which, (soft, hard))


def place(fd, number):
    """Move a descriptor to a number, to be inherited."""
    if fd == number:
        os.set_inheritable(fd, True)
        return
    os.dup2(fd, number)
    os.close(fd)


def main(folder, limits, command):
    with open(os.path.join(folder, "secret"), "rb") as file:
        secret = file.read()
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    sock.connect(os.path.join(folder, "s"))
    forbid()
    place(sock.detach(), BRIDGE_FD)
    # The pipe is made after the socket is in its place, and written before it takes its own: neither ends the other.
    out, into = os.pipe()
    with open(into, "wb") as file:
        file.write(secret)
    place(out, SECRET_FD)
    if limits:
        bound(limits)
    # Some engines add variables of their own.
    os.execvpe(command[0], command, {name: os.environ[name] for name in KEPT if name in os.environ})


if __name__ == "__main__":
    try:
        main(sys.argv[1], sys.argv[2], sys.argv[3:])
    except (OSError, KeyError, ValueError) as error:
        sys.stderr.write(f"mcprun: enter the sandbox: {error}\n")
        sys.exit(EXIT_LOST)
