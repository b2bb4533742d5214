import subprocess
code = r"""
import socket, os, ctypes
for f in (lambda: open("@CANARY@").read(), lambda: socket.create_connection(("127.0.0.1", @PORT@), 1), lambda: open("/workspace/servers/new.txt", "w"), lambda: os.setuid(0), lambda: open("@ELSEWHERE@/new.txt", "w")):
    try: f(); print("LEAK in a child")
    except OSError: pass
libc = ctypes.CDLL(None)
if libc.mount(b"x", b"/tmp", b"tmpfs", 0, 0) == 0: print("LEAK mount in a child")
if libc.unshare(0x10000000) == 0: print("LEAK unshare in a child")
s = open("/proc/self/status").read()
if "Seccomp:\t2" not in s: print("LEAK no filter in a child")
if "NoNewPrivs:\t0" in s: print("LEAK privileges in a child")
"""
for options in ({}, {"start_new_session": True}, {"close_fds": False}, {"env": {"LD_PRELOAD": "/workspace/x.so", "PYTHONPATH": "/workspace", "PATH": "/"}}, {"user": None, "umask": 0}, {"cwd": "/"}):
    try: print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20, **options).stdout, end="")
    except OSError: pass
for program in ("/bin/sh", "/bin/su", "/usr/bin/sudo", "/bin/mount", "/usr/bin/newuidmap", "/usr/bin/pkexec", "/bin/ping", "/usr/bin/docker", "/usr/bin/nsenter", "/usr/bin/unshare", "/usr/bin/curl", "/usr/bin/gcc", "/usr/bin/perl"):
    attempt(program, lambda: subprocess.run([program, "--version"], capture_output=True, timeout=5).args)
print("checked")
