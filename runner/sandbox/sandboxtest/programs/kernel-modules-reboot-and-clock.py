b = lambda n: ctypes.create_string_buffer(n)
refused({
  "init_module": (175, 105, 0, 0, b""), "finit_module": (313, 273, 0, b"", 0), "delete_module": (176, 106, b"x", 0), "kexec_load": (246, 104, 0, 0, 0, 0), "kexec_file_load": (320, 294, 0, 0, 0, b"", 0),
  "reboot": (169, 142, 0xfee1dead, 672274793, 0x89abcdef, 0), "halt": (169, 142, 0xfee1dead, 672274793, 0xcdef0123, 0), "settimeofday": (164, 170, b(16), 0), "clock_settime": (227, 112, 0, b(16)), "adjtimex": (159, 171, b(256)), "clock_adjtime": (305, 266, 0, b(256)),
  "sethostname": (170, 161, b"mine", 4), "setdomainname": (171, 162, b"mine", 4), "acct": (163, 89, b"/tmp/a"), "syslog": (103, 116, 3, b(100), 100), "clear syslog": (103, 116, 5, 0, 0), "vhangup": (153, 58), "personality": (135, 92, 0x0040000), "swapoff": (168, 225, b"/x"),
  "nfsservctl": (180, 42, 0, 0, 0), "ioprio real time": (251, 30, 1, 0, 1 << 13), "mbind": (237, 235, 0, 0, 0, 0, 0, 0), "set_mempolicy": (238, 237, 0, 0, 0),
})
if platform.machine() == "x86_64":
    refused({"iopl": (172, 0, 3), "ioperm": (173, 0, 0x70, 1, 1), "modify_ldt": (154, 0, 1, b(16), 16), "uselib": (134, 0, b"/x"), "_sysctl": (156, 0, 0), "create_module": (174, 0, 0), "ustat": (136, 0, 0, 0), "sysfs": (139, 0, 3)})
print("checked")
