pid = os.fork()
if pid == 0:
    time.sleep(20); os._exit(0)
local = ctypes.create_string_buffer(8)
vec = ctypes.create_string_buffer(ctypes.addressof(local).to_bytes(8, "little") + (8).to_bytes(8, "little"))
for target in (1, os.getppid(), pid):
    refused({
      f"attach to {target}": (101, 117, 16, target, 0, 0), f"seize {target}": (101, 117, 0x4206, target, 0, 0), f"peek {target}": (101, 117, 1, target, 0, 0),
      f"read {target}": (310, 270, target, vec, 1, vec, 1, 0), f"write {target}": (311, 271, target, vec, 1, vec, 1, 0), f"compare {target}": (312, 272, os.getpid(), target, 0, 0, 0),
      f"move pages of {target}": (279, 239, target, 0, 0, 0, 0, 0), f"migrate pages of {target}": (256, 238, target, 0, 0, 0),
    })
    fd = syscall(434, 434, target, 0)
    if fd >= 0:
        refused({f"descriptor of {target}": (438, 438, fd, 0, 0), f"memory advice for {target}": (440, 440, fd, vec, 1, 4, 0), f"release memory of {target}": (448, 448, fd, 0)})
refused({"traced by its parent": (101, 117, 0, 0, 0, 0)})
os.kill(pid, 9)
print("checked")
