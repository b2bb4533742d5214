import glob, socket
for place in ("@OTHER@/secret.txt", "/workspace/../../@OTHERID@", "/tmp/secret.txt", "/dev/shm/secret", "/var/tmp/secret", "/run/secret", "/workspace/secret.txt", "/proc/1/cwd/secret.txt", "@HOSTWORKSPACE@/../../*/workspace/secret.txt"):
    attempt(place, lambda: open((glob.glob(place) or [place])[0]).read())
for pid in [n for n in os.listdir("/proc") if n.isdigit()]:
    for root in ("root/workspace", "cwd", "root/tmp"):
        attempt(f"{pid}/{root}", lambda: open(f"/proc/{pid}/{root}/secret.txt").read())
for d in ("@OTHER@", "/tmp", "/dev/shm", "/workspace"):
    try: open(d + "/from the attacker", "w").close()
    except OSError: pass
attempt("link", lambda: (os.symlink("@OTHER@", "other"), open("other/secret.txt").read()))
for address in ("\0neighbour", "/tmp/n.sock", "@OTHER@/n.sock"):
    def reach():
        s = socket.socket(socket.AF_UNIX); s.settimeout(1); s.connect(address); return s.recv(50)
    attempt("socket " + address, reach)
attempt("port", lambda: socket.create_connection(("127.0.0.1", 4321), 1))
print("checked")
