for f in ["link", "dirlink/canary", "relative", "chain", "rootlink@CANARY@", "proclink@CANARY@"]:
    attempt(f, lambda: open(f).read())
for i, target in enumerate(["@CANARY@", "../canary", "/proc/1/root@CANARY@", "/proc/self/cwd/../..@CANARY@", "/workspace/../../..@CANARY@"]):
    attempt(f"made to {target}", lambda: (os.symlink(target, f"made{i}"), open(f"made{i}").read()))
    attempt(f"written through to {target}", lambda: open(f"made{i}", "w").write("x"))
    attempt(f"hard to {target}", lambda: os.link(target, f"hard{i}"))
    if syscall(265, 37, -100, b"made%d" % i, -100, b"followed%d" % i, 0x400) == 0: leak(f"followed hard to {target}")
attempt("written elsewhere", lambda: (os.symlink("@ELSEWHERE@", "out"), open("out/new.txt", "w").write("x")))
attempt("written over elsewhere", lambda: open("elselink/somebody.txt", "w").write("x"))
attempt("renamed out", lambda: (open("f", "w").close(), os.rename("f", "elselink/f")))
attempt("copied in", lambda: os.rename("elselink/somebody.txt", "mine"))
attempt("removed elsewhere", lambda: os.unlink("elselink/somebody.txt"))
print("checked")
