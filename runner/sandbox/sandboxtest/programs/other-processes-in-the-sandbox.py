# The sandbox's own first process, and whatever else runs there, must not be a way out: it may see more than the script.
import stat
def others(pid):
    """In what a process differs from the script; one that differs in nothing has nothing to be had."""
    status = open(f"/proc/{pid}/status").read()
    lines = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    own = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
    names = ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters")
    try: spaces = all(os.readlink(f"/proc/{pid}/ns/{ns}") == os.readlink(f"/proc/self/ns/{ns}") for ns in ("mnt", "user", "pid", "net", "ipc", "uts", "cgroup"))
    except OSError: spaces = False
    return [name for name in names if lines.get(name) != own.get(name)] + ([] if spaces else ["namespaces"])
me = os.getpid()
for pid in [n for n in os.listdir("/proc") if n.isdigit() and int(n) != me]:
    try: cmdline = open(f"/proc/{pid}/cmdline", "rb").read()
    except OSError: continue
    if b"sandboxtest" in cmdline or b"dockerd" in cmdline or b"systemd" in cmdline: leak("a process of the host", cmdline)
    for task in [pid] + [f"{pid}/task/{t}" for t in os.listdir(f"/proc/{pid}/task")]:
        # Where it is covered by /dev/null, there is nothing behind it.
        try: fd = os.open(f"/proc/{task}/mem", os.O_RDWR); stat.S_ISREG(os.fstat(fd).st_mode) and others(pid) and leak(f"the memory of {pid}, which is another in", others(pid))
        except OSError: pass
        for name in ("root", "cwd"):
            attempt(f"{task}/{name}", lambda: open(f"/proc/{task}/{name}@CANARY@").read())
            attempt(f"{task}/{name}", lambda: open(f"/proc/{task}/{name}/../../../..@CANARY@").read())
        for ns in ("mnt", "user", "pid", "net"):
            try: fd = os.open(f"/proc/{task}/ns/{ns}", os.O_RDONLY)
            except OSError: continue
            if syscall(308, 268, fd, 0) == 0: leak("setns", f"{task} {ns}")
        try: fds = os.listdir(f"/proc/{task}/fd")
        except OSError: continue
        for fd in fds:
            attempt(f"{task}/fd/{fd}", lambda: open(f"/proc/{task}/fd/{fd}/../../../../../..@CANARY@").read())
            attempt(f"{task}/fd/{fd}", lambda: os.listdir(f"/proc/{task}/fd/{fd}") and os.stat(f"/proc/{task}/fd/{fd}/..@BASE@"))
    attempt(f"program of {pid}", lambda: os.close(os.open(f"/proc/{pid}/exe", os.O_WRONLY)))
    attempt(f"program of {pid}, replaced", lambda: os.unlink(os.readlink(f"/proc/{pid}/exe")))
print("checked")
