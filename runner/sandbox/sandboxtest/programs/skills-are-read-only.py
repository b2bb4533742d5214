assert open("skills/saved.txt").read() == open("/mcp/skills/saved.txt").read() == "a skill"
for dir in ["skills", "/workspace/skills", "/mcp/skills"]:
    f = dir + "/saved.txt"
    for what, do in {"write": lambda: open(f, "w"), "create": lambda: open(dir + "/new.py", "w"), "remove": lambda: os.unlink(f), "mode": lambda: os.chmod(f, 0o777), "rename": lambda: os.rename(dir, dir + "2"), "rename over": lambda: (open("over", "w").close(), os.rename("over", f)),
                     "link": lambda: (os.link(f, "hard"), open("hard", "w").write("x")), "by descriptor": lambda: os.open(f"/proc/self/fd/{os.open(f, os.O_RDONLY)}", os.O_RDWR), "truncate": lambda: os.truncate(f, 0)}.items():
        attempt(f"{what} {dir}", do)
print("checked")
