# io_uring, BPF, perf and userfaultfd: most ways out of a container of the last years began with one of them.
b = lambda n: ctypes.create_string_buffer(n)
refused({
  "io_uring_setup": (425, 425, 8, b(120)), "io_uring_enter": (426, 426, 0, 1, 1, 0, 0, 0), "io_uring_register": (427, 427, 0, 0, 0, 0), "io_setup": (206, 0, 8, b(8)),
  "bpf map": (321, 280, 0, b(b"\1" + bytes(127)), 128), "bpf program": (321, 280, 5, b(128), 128), "bpf object": (321, 280, 7, b(128), 128),
  "perf_event_open": (298, 241, b((0).to_bytes(4, "little") + (112).to_bytes(4, "little") + bytes(104)), 0, -1, -1, 0), "perf of all": (298, 241, b(112), -1, 0, -1, 0),
  "userfaultfd": (323, 282, 0x80000), "userfaultfd, own pages": (323, 282, 1), "fanotify_init": (300, 262, 0, 0), "fanotify_mark": (301, 263, 0, 1, 2, -100, b"/"),
  "lookup_dcookie": (212, 18, 0, 0, 0), "vmsplice": (278, 75, 0, 0, 0, 0), "seccomp listener": (317, 277, 1, 8, b(16)), "landlock": (444, 444, 0, 0, 1),
})
print("checked")
