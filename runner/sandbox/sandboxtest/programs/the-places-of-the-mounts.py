# The tree and the skills will be mounted on names in the workspace: what if they are there already?
import shutil
kind = sys.argv[1]
for name in ("servers", "skills"):
    try: os.rmdir(name)
    except OSError: pass
    if kind == "link": os.symlink("@ELSEWHERE@", name)
    if kind == "link to the root": os.symlink("/", name)
    if kind == "link to the kernel": os.symlink("/proc/self/cwd/../..@ELSEWHERE@", name)
    if kind == "file": open(name, "w").write("LEAK")
    if kind == "pipe":
        try: os.mkfifo(name)
        except OSError: pass  # not everywhere may they be made
    if kind == "folder": os.makedirs(name + "/sub"); open(name + "/client.py", "w").write("print('LEAK planted')"); open(name + "/client.ts", "w").write("console.log('LEAK planted')"); open(name + "/__init__.py", "w").write("print('LEAK planted')")
    if kind == "locked folder": os.mkdir(name); os.chmod(name, 0)
print("checked")
