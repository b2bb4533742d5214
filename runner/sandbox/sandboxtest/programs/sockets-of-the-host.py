import socket
def reach(kind, address):
    s = socket.socket(socket.AF_UNIX, kind); s.settimeout(1); s.connect(address)
    return s.recv(100)
for address in ["/workspace/host.sock", "host.sock", "@HOSTWORKSPACE@/host.sock", "\0@ABSTRACT@", "\0/tmp/.X11-unix/X0", "\0/org/freedesktop/systemd1", "\0/containerd-shim/", "/var/run/docker.sock", "/run/containerd/containerd.sock"]:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        attempt(f"{address} {kind}", reach, kind, address)
attempt("by a link", lambda: (os.symlink("/workspace/host.sock", "/tmp/l"), reach(socket.SOCK_STREAM, "/tmp/l")))
attempt("by another name", lambda: (os.rename("host.sock", "renamed.sock"), reach(socket.SOCK_STREAM, "renamed.sock")))
attempt("by a datagram", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", "/dev/log"))
print("checked")
