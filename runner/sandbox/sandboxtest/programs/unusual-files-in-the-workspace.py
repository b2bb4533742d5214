for name in ("pipe", "pipe\n\x1b[31m"):
    try: os.mkfifo(name)
    except OSError: pass  # not everywhere may they be made
import socket
for name in (b"-rf", b"--", b"\xff\xfe\x80", b"a\nb\tc", b"\x1b]0;title\x07", "\u202egnp.exe".encode(), b"..." , b" ", b"~", b"$(id)", b"`id`", b"a" * 255, "e\u0301".encode(), "\u00e9".encode(), b"CON", b"NUL.txt", b"x:y", b"back\\slash", b'quo"te', b".git", b".mcpgen"):
    open(name, "wb").write(b"x")
try: socket.socket(socket.AF_UNIX).bind("a.sock")
except OSError: pass
os.symlink("loop", "loop"); os.symlink("/", "root"); os.symlink("x" * 4000, "long"); os.symlink("pipe", "to a pipe")
os.mkdir("deep"); here = os.open("deep", os.O_RDONLY)
for i in range(1500):
    os.mkdir("dd", dir_fd=here)
    there = os.open("dd", os.O_RDONLY, dir_fd=here); os.close(here); here = there
os.close(here)
os.makedirs("locked/inside"); open("locked/inside/f", "w").write("x"); os.chmod("locked/inside/f", 0); os.chmod("locked/inside", 0); os.chmod("locked", 0)
os.mkdir("sticky"); os.chmod("sticky", 0o1000)
os.mkdir("wide")
for i in range(500): os.close(os.open(f"wide/{i}", os.O_CREAT | os.O_WRONLY, 0))
print("checked")
