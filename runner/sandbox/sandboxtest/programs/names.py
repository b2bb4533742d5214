import socket, struct
for name in ["example.com", "localhost.localdomain.example", "metadata.google.internal", "host.docker.internal", "gateway.docker.internal", "host.containers.internal", "kubernetes.default.svc", "@HOSTNAME@.local", "a" * 63 + ".exfiltrated.example.com"]:
    attempt("look up " + name, socket.getaddrinfo, name, 80)
    attempt("by the old way " + name, socket.gethostbyname, name)
attempt("reverse", lambda: socket.gethostbyaddr("1.1.1.1"))
query = struct.pack(">6H", 1, 0x100, 1, 0, 0, 0) + b"\7example\3com\0" + struct.pack(">2H", 1, 1)
for server in ["127.0.0.53", "127.0.0.11", "1.1.1.1", "172.17.0.1", "10.0.2.3"]:
    def ask():
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(0.5); s.sendto(query, (server, 53)); return s.recv(500)
    attempt("ask " + server, ask)
for path in ["/run/systemd/resolve/io.systemd.Resolve", "/var/run/nscd/socket", "/run/avahi-daemon/socket"]:
    attempt(path, lambda: socket.socket(socket.AF_UNIX).connect(path))
print("checked")
