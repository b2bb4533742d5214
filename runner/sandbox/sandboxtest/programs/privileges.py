status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
    if int(status.get(name, "0"), 16): leak(name, status[name])  # an older kernel lists fewer
if status.get("NoNewPrivs", "1").strip() != "1": leak("no_new_privs is off")
if status.get("Seccomp", "2").strip() != "2": leak("seccomp is off", status["Seccomp"])
for who in ("Uid", "Gid", "Groups"):
    if "0" in status.get(who, "").split(): leak(who, status[who])
PR_GET_SECCOMP, PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, PR_SET_SECUREBITS, PR_CAPBSET_READ, PR_CAP_AMBIENT = 21, 38, 39, 28, 23, 47
if syscall(157, 167, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1: leak("no_new_privs is off")
if syscall(157, 167, PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0 and syscall(157, 167, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1: leak("no_new_privs was taken back")
for cap in range(41):
    if syscall(157, 167, PR_CAPBSET_READ, cap, 0, 0, 0) == 1: leak("capability may be had", cap)
    if syscall(157, 167, PR_CAP_AMBIENT, 2, cap, 0, 0) == 0: leak("ambient capability", cap)
if syscall(157, 167, PR_SET_SECUREBITS, 0x2f, 0, 0, 0) == 0: leak("securebits")
header, data = ctypes.create_string_buffer(b"\x22\x05\x08\x20" + bytes(4)), ctypes.create_string_buffer(b"\xff" * 24)
if syscall(126, 91, header, data) == 0: leak("capset")
for what, f in {"setuid": lambda: os.setuid(0), "setgid": lambda: os.setgid(0), "seteuid": lambda: os.seteuid(0), "setresuid": lambda: os.setresuid(0, 0, 0), "setreuid": lambda: os.setreuid(0, 0), "setgroups": lambda: os.setgroups([0]), "initgroups": lambda: os.initgroups("root", 0)}.items():
    attempt(what, f)
attempt("chroot", lambda: (os.mkdir("/tmp/root"), os.chroot("/tmp/root")))
attempt("host name", lambda: __import__("socket").sethostname("mine"))
print("checked")
