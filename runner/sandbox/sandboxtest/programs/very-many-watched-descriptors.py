# What epoll looks at is bounded for a user, and that is all runs together. A descriptor that was closed since is still
# looked at, for as long as another one has the same file: so a few of them are enough.
import select, time
print("running", flush=True)
held = [select.epoll() for _ in range(4)]
files = [os.pipe()[0] for _ in range(20)]
try:
    for e in held:
        for f in files:
            for n in range(200, 1000):
                os.dup2(f, n)
                e.register(n, select.EPOLLIN)
                os.close(n)
    time.sleep(6)
    leak("64,000 watched descriptors")
except OSError as error: print(error.strerror)
print("checked")
