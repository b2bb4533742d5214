import mmap
print("running", flush=True)
keep = []
for i in range(64):
    m = mmap.mmap(-1, 8 << 20)  # shared between processes, in no file
    for at in range(0, len(m), 4096): m[at] = 1
    keep.append(m)
leak("512 MiB of shared memory")
