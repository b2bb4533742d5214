# Pipes, sockets and pages of tables are nobody's memory, and the machine's all the same.
import mmap, socket, struct
limit = 150_000_000  # that of the case
def fill(size, write):
    """Write to what nobody reads until it takes no more; return what is held then."""
    try:
        while True: size += write(b"x" * 65536)
    except BlockingIOError: return size
def hold(tell):
    held, keep = 0, []
    try:
        while held < 32 << 20:
            r, w = os.pipe(); keep += [r, w]
            os.set_blocking(w, False)
            held = fill(held, lambda data: os.write(w, data))
            for s in socket.socketpair(): keep.append(s); s.setblocking(False); held = fill(held, s.send)
    except OSError: pass
    os.write(tell, struct.pack("qq", os.getpid(), held)); os.close(tell)
    time.sleep(60)
def queues():
    told, tell = os.pipe()
    pids, held = [], {}
    for child in range(20):
        pids.append(os.fork())
        if pids[-1] == 0: hold(tell); os._exit(0)
    os.close(tell)
    while len(report := os.read(told, 16)) == 16: held.update([struct.unpack("qq", report)])
    for _ in range(60):  # whoever is over the limit may be ended for it
        pids = [pid for pid in pids if os.waitpid(pid, os.WNOHANG) == (0, 0)]
        unread = sum(held.get(pid, 0) for pid in pids)
        if unread <= limit: break
        time.sleep(0.1)
    print("unread:", unread, held)
    if unread > limit: leak("data that nobody reads", unread)
def tables():
    # One page in each 2 MiB: 4 KiB of page tables for each. A page that is only read is the same for all.
    for what, access in (("1 GiB of pages and as much of their tables", mmap.PROT_READ | mmap.PROT_WRITE), ("1 GiB of page tables", mmap.PROT_READ)):
        sparse, pages = [], 0
        try:
            for i in range(512):
                m = mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=access); sparse.append(m)
                try: m.madvise(mmap.MADV_NOHUGEPAGE)
                except OSError: pass  # there are none
                for at in range(0, 1 << 30, 1 << 21):
                    if access & mmap.PROT_WRITE: m[at] = 1
                    else: m[at]
                    pages += 1
        except (OSError, ValueError, MemoryError) as error: print("refused:", error)
        print("pages:", pages, flush=True)
        if pages == 512 * 512:
            time.sleep(6)  # whoever is over the limit may be ended for it
            leak(what, pages)
print("running", flush=True)
{"queues": queues, "tables": tables}[sys.argv[1]]()
print("checked")
