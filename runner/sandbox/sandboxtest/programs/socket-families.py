# What the kernel has behind its rarer families has been a way to its memory again and again.
import socket
usual = {1, 2, 10, 16}  # unix, inet, inet6, netlink: whether they lead anywhere is asked elsewhere
for family in range(1, 50):
    for kind in (1, 2, 3, 5):
        if family in usual and (kind != 3 or family in (1, 16)): continue
        got = syscall(41, 198, family, kind, 0)
        if got >= 0: leak(f"socket of family {family}, kind {kind}", got); os.close(got)
for family, proto in [(2, 1), (2, 255), (10, 58), (17, 768)]:  # ping, raw, and every packet on the wire
    attempt(f"raw {family} {proto}", lambda: socket.socket(family, socket.SOCK_RAW, proto))
    attempt(f"packets {family} {proto}", lambda: (s := socket.socket(family, 10, proto)))
for proto in (6, 9, 12, 15, 20):  # xfrm, audit, netfilter, uevents, rdma
    attempt(f"netlink {proto}", lambda: (s := socket.socket(16, 3, proto), s.settimeout(0.3), s.bind((0, 1)), s.recv(100)))
for proto in (132, 256, 262):  # SCTP, SMC, MPTCP: streams like TCP, with code of their own
    got = syscall(41, 198, 2, 1, proto)
    if got >= 0: leak(f"stream of protocol {proto}", got); os.close(got)
attempt("upgrade", lambda: (s := socket.socket(2, 1), s.setsockopt(6, 31, b"tls")))
print("checked")
