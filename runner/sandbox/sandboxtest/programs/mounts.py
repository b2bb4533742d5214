b = lambda s: ctypes.create_string_buffer(s)
refused({
  "mount tmpfs": (165, 40, b"x", b"/tmp", b"tmpfs", 0, 0), "bind": (165, 40, b"/", b"/tmp", b"", 4096, 0), "remount": (165, 40, b"", b"/", b"", 32 | 4096, 0), "make shared": (165, 40, b"", b"/", b"", 1 << 20, 0),
  "proc": (165, 40, b"proc", b"/tmp", b"proc", 0, 0), "sysfs": (165, 40, b"s", b"/tmp", b"sysfs", 0, 0), "cgroup": (165, 40, b"c", b"/tmp", b"cgroup2", 0, 0), "overlay": (165, 40, b"o", b"/tmp", b"overlay", 0, b"lowerdir=/"), "fuse": (165, 40, b"f", b"/tmp", b"fuse", 0, 0),
  "umount workspace/servers": (166, 39, b"/workspace/servers", 2), "umount tree": (166, 39, b"/mcp/servers", 0), "umount proc": (166, 39, b"/proc", 2), "pivot_root": (155, 41, b"/tmp", b"/tmp"), "chroot": (161, 51, b"/tmp"),
  "open_tree": (428, 428, -100, b"/", 1), "open_tree of the tree": (428, 428, -100, b"/workspace", 0x8001), "move_mount": (429, 429, -100, b"/tmp", -100, b"/workspace", 0), "fsopen": (430, 430, b"tmpfs", 0), "fsconfig": (431, 431, 3, 6, 0, 0, 0), "fsmount": (432, 432, 3, 0, 0), "fspick": (433, 433, -100, b"/", 0), "mount_setattr": (442, 442, -100, b"/mcp/servers", 0, b(bytes(32)), 32),
  "open_tree_attr": (467, 467, -100, b"/", 1, b(bytes(32)), 32), "swapon": (167, 224, b"/tmp/x", 0), "quotactl": (179, 60, 0x800002, 0, 0, 0), "quotactl_fd": (443, 443, 3, 0, 0, 0),
})
print("checked")
