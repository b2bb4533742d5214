for dir, dirs, files in os.walk("/"):
    if dir.startswith(("/workspace", "/tmp", "/proc/self/task", "/proc/thread-self")): dirs.clear(); continue
    if dir.startswith("/proc/") and dir.count("/") > 3: dirs.clear(); continue
    try: open(dir + "/@ID@", "w"); leak("a file in", dir)
    except OSError: pass
    if dir.startswith(("/proc", "/sys", "/dev")): continue
    for name in files:
        path = os.path.join(dir, name)
        if os.path.islink(path): continue
        try: os.close(os.open(path, os.O_WRONLY)); leak("opened", path)
        except OSError: pass
for dir in ["/workspace/..", "/tmp/..", "@HOSTWORKSPACE@", "@ELSEWHERE@", "/dev/shm", "/dev/mqueue", "/run", "/var/tmp", "/run/lock", "/run/user/0"]:
    attempt(dir, lambda: open(dir + "/@ID@", "w"))
for path in (sys.executable, os.__file__, "/mcp/guest/guest.py", "/etc/passwd", "/etc/ld.so.cache", "/etc/ld.so.preload"):
    attempt("write " + path, lambda: open(path, "a"))
    attempt("replace " + path, lambda: (open("/tmp/r", "w").close(), os.rename("/tmp/r", path)))
print("checked")
