import socket, urllib.request
def tcp(family, address):
    s = socket.socket(family, socket.SOCK_STREAM); s.settimeout(1); s.connect(address); return s.recv(100)
def udp(family, address):
    s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(0.5); s.sendto(b"x", address); return s.recv(100)
for host in ["127.0.0.1", "localhost", "0.0.0.0", "127.1", "2130706433", "10.0.2.2", "172.17.0.1", "192.168.65.254"]:
    attempt("tcp " + host, tcp, socket.AF_INET, (host, @PORT@))
    attempt("udp " + host, udp, socket.AF_INET, (host, @UDP@))
for host in ["::1", "::", "::ffff:127.0.0.1", "fe80::1"]:
    attempt("tcp6 " + host, tcp, socket.AF_INET6, (host, @PORT6@))
    attempt("udp6 " + host, udp, socket.AF_INET6, (host, @UDP@))
for host, port in [("1.1.1.1", 53), ("8.8.8.8", 443), ("169.254.169.254", 80), ("169.254.170.2", 80), ("100.100.100.200", 80), ("168.63.129.16", 80)]:
    attempt("tcp " + host, tcp, socket.AF_INET, (host, port))
attempt("metadata6", tcp, socket.AF_INET6, ("fd00:ec2::254", 80))
attempt("broadcast", lambda: (s := socket.socket(socket.AF_INET, socket.SOCK_DGRAM), s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1), s.settimeout(0.5), s.sendto(b"x", ("255.255.255.255", @UDP@)), s.recv(10)))
attempt("multicast", lambda: (s := socket.socket(socket.AF_INET, socket.SOCK_DGRAM), s.settimeout(0.5), s.sendto(b"x", ("224.0.0.251", 5353)), s.recv(10)))
for url in ["http://127.0.0.1:@PORT@/", "http://[::1]:@PORT6@/", "https://example.com/", "ftp://127.0.0.1:@PORT@/", "file://@CANARY@"]:
    attempt(url, lambda: urllib.request.urlopen(url, timeout=1).read())
os.environ.update(http_proxy="http://127.0.0.1:@PORT@", https_proxy="http://127.0.0.1:@PORT@", all_proxy="socks5://127.0.0.1:@PORT@")
attempt("by a proxy", lambda: urllib.request.urlopen("http://example.com/", timeout=1).read())
print("checked")
