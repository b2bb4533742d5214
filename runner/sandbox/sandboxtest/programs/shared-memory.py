# Memory that is shared between processes and in no file. It is there for as long as one page of it is mapped.
import mmap
print("running", flush=True)
def fill(m):
    for at in range(0, len(m), 4096): m[at] = 1
def by_a_child(m):
    if os.fork() == 0:
        fill(m)
        os._exit(0)
    os.wait()
def let_go(m):
    fill(m)
    m.madvise(mmap.MADV_DONTNEED)
def zero():
    fd = os.open("/dev/zero", os.O_RDWR)
    try: return mmap.mmap(fd, 8 << 20)
    finally: os.close(fd)
keep = []
try:
    for i in range(72):
        m = mmap.mmap(-1, 8 << 20) if i % 2 else zero()
        keep.append(m)
        (fill, by_a_child, let_go)[i % 3](m)
    leak("576 MiB of shared memory")
except OSError as error: print(error.strerror)
refused = 0
for make in zero, lambda: mmap.mmap(-1, 8 << 20), lambda: mmap.mmap(-1, 8 << 20, flags=3 | mmap.MAP_ANONYMOUS):
    try: keep.append(make())
    except OSError: refused += 1
if refused != 3: leak("one way was refused only", refused)
print("checked")
