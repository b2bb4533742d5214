# What a script brings along must not be started from where nobody looks.
import shutil, subprocess, stat
for place in ("/tmp",):
    copy = place + "/program"
    shutil.copy(sys.executable, copy); os.chmod(copy, 0o755)
    attempt("started in " + place, lambda: subprocess.run([copy, "-c", "print(1)"], capture_output=True, timeout=10).returncode)
    open(place + "/script", "w").write("#!" + sys.executable + "\nprint(1)\n"); os.chmod(place + "/script", 0o755)
    attempt("script started in " + place, lambda: subprocess.run([place + "/script"], capture_output=True, timeout=10).returncode)
    fd = os.open(copy, os.O_RDONLY)
    attempt("started by descriptor in " + place, lambda: subprocess.run([f"/proc/self/fd/{fd}", "-c", "1"], pass_fds=[fd], capture_output=True, timeout=10).returncode)
    os.close(fd); os.unlink(copy)
    found = [line.split()[-1] for line in open("/proc/self/maps") if "libc.so" in line]
    if found:
        shutil.copy(found[0], place + "/library.so")
        attempt("library in " + place, lambda: ctypes.CDLL(place + "/library.so"))
        os.unlink(place + "/library.so")
print("checked")
