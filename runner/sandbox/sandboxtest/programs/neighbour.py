# Another customer: leaves its secret wherever two sandboxes might meet, and goes on while somebody attacks.
import socket, threading
from servers.client import call_mcp_tool
secret = b"the neighbour's secret"
for place in ("/workspace/secret.txt", "/tmp/secret.txt", "/dev/shm/secret", "/var/tmp/secret", "/run/secret"):
    try: open(place, "wb").write(secret); os.chmod(place, 0o666)
    except OSError: pass
keep = []
def listen(name):
    s = socket.socket(socket.AF_UNIX); s.bind(name); s.listen(); keep.append(s)
    def serve():
        while True: c, _ = s.accept(); c.sendall(secret); c.close()
    threading.Thread(target=serve, daemon=True).start()
for name in ("\0neighbour", "/tmp/n.sock", "/workspace/n.sock"):
    try: listen(name)
    except OSError: pass
try:
    s = socket.create_server(("127.0.0.1", 4321)); keep.append(s)
except OSError: pass
segment = syscall(29, 194, 0x4d43, 4096, 0o1666)
queue = syscall(68, 186, 0x4d43, 0o1666)
syscall(248, 217, b"user", b"neighbour", secret, len(secret), -4)
syscall(319, 279, b"neighbour", 0)
syscall(240, 180, b"neighbour", 0o102, 0o666, 0)
print("ready", flush=True)
call_mcp_tool("test__wait", {})
assert open("/workspace/secret.txt", "rb").read() == secret and sorted(os.listdir("/workspace")) == sorted(set(os.listdir("/workspace")))
if os.path.exists("/workspace/from the attacker") or os.path.exists("/tmp/from the attacker"): leak("written by the attacker")
print("alive", flush=True)
