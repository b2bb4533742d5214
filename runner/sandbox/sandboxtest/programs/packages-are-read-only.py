import mmap, stat
dir = "/mcp/site-packages"
f = dir + "/confpkg/__init__.py"
before = open(f).read()
for what, do in {
    "write": lambda: open(f, "w"), "append": lambda: open(f, "a"), "create": lambda: open(dir + "/new.py", "w"), "remove": lambda: os.unlink(f), "mode": lambda: os.chmod(f, 0o777),
    "times": lambda: os.utime(f, (0, 0)), "truncate": lambda: os.truncate(f, 0), "rename folder": lambda: os.rename(dir, "/mcp/other"), "rename away": lambda: os.rename(f, "away"),
    "folder": lambda: os.mkdir(dir + "/sub"), "link in": lambda: os.symlink("/tmp", dir + "/l"), "shared memory": lambda: mmap.mmap(os.open(f, os.O_RDONLY), 9, flags=mmap.MAP_SHARED, prot=mmap.PROT_WRITE),
    "by descriptor": lambda: os.open(f"/proc/self/fd/{os.open(f, os.O_RDONLY)}", os.O_RDWR), "a device": lambda: os.mknod(dir + "/n", stat.S_IFCHR | 0o666, os.makedev(1, 5)),
    "bytecode": lambda: os.makedirs(dir + "/confpkg/__pycache__"),
}.items(): attempt(what, do)
if open(f).read() != before: leak("changed")
print("checked")
