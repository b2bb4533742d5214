import mmap, stat
assert open("servers/a.txt").read() == open("/mcp/servers/a.txt").read() == "generated"
for dir in ["servers", "/workspace/servers", "/mcp/servers"]:
    f = dir + "/a.txt"
    for what, do in {
        "write": lambda: open(f, "w"), "append": lambda: open(f, "a"), "create": lambda: open(dir + "/new.txt", "w"), "unnamed": lambda: os.open(dir, os.O_TMPFILE | os.O_WRONLY, 0o600),
        "remove": lambda: os.unlink(f), "mode": lambda: os.chmod(f, 0o777), "owner": lambda: os.chown(f, os.getuid(), os.getgid()), "times": lambda: os.utime(f, (0, 0)), "truncate": lambda: os.truncate(f, 0),
        "rename folder": lambda: os.rename(dir, dir + "2"), "remove folder": lambda: os.rmdir(dir), "rename over": lambda: (open("over", "w").write("x"), os.rename("over", f)), "rename away": lambda: os.rename(f, "away"),
        "folder": lambda: os.mkdir(dir + "/sub"), "link in": lambda: os.symlink("/tmp", dir + "/l"), "fifo": lambda: os.mkfifo(dir + "/p"), "attribute": lambda: os.setxattr(f, "user.x", b"1"), "by descriptor": lambda: os.open(f"/proc/self/fd/{os.open(f, os.O_RDONLY)}", os.O_RDWR),
        "mode by descriptor": lambda: os.fchmod(os.open(f, os.O_RDONLY), 0o777), "shared memory": lambda: mmap.mmap(os.open(f, os.O_RDONLY), 9, flags=mmap.MAP_SHARED, prot=mmap.PROT_WRITE), "by a path handle": lambda: os.open(f"/proc/self/fd/{os.open(f, os.O_PATH)}", os.O_WRONLY),
        "by the folder": lambda: os.open("a.txt", os.O_WRONLY, dir_fd=os.open(dir, os.O_RDONLY)),
    }.items(): attempt(f"{what} {dir}", do)
    def by_hard_link():
        os.link(f, "hard"); open("hard", "w").write("changed")
    attempt(f"by a hard link {dir}", by_hard_link)
    for amd64, arm64, name in ((316, 276, "exchange"),):
        os.makedirs("mine", exist_ok=True)
        if syscall(amd64, arm64, -100, b"mine", -100, dir.encode(), 2) == 0: leak("exchanged", dir)
attempt("the workspace itself", lambda: os.rename("/workspace", "/tmp/w"))
attempt("the way to the tree", lambda: os.rename("/mcp", "/mcp2"))
if open("/mcp/servers/a.txt").read() != "generated": leak("changed")
print("checked")
