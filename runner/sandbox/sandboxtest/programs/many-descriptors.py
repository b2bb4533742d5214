import socket
n, keep = 0, []
for make in (lambda: [os.open("/dev/null", os.O_RDONLY)], lambda: list(os.pipe()), lambda: [s.detach() for s in socket.socketpair()], lambda: [os.open("/workspace", os.O_RDONLY)], lambda: [os.eventfd(0)]):
    mine = []
    try:
        while len(mine) < 2000: mine += make()
        leak("descriptors", len(mine))
    except OSError: pass
    for fd in mine: os.close(fd)
def passed():  # descriptors that are on their way belong to no process
    a, b = socket.socketpair()
    a.setblocking(False)
    try:
        for _ in range(2000):
            r, w = os.pipe()
            socket.send_fds(a, [b"x"], [r, w] * 50); os.close(r); os.close(w)
        leak("descriptors on their way")
    except OSError: pass
passed()
print("checked")
