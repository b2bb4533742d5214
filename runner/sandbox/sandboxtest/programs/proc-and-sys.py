for f in ["/proc/kcore", "/proc/kmsg", "/proc/kallsyms", "/proc/kpageflags", "/proc/kpagecount", "/proc/sched_debug", "/proc/timer_list", "/proc/slabinfo", "/proc/vmallocinfo", "/proc/keys", "/proc/iomem", "/proc/ioports", "/proc/1/root@CANARY@", "/proc/self/root@CANARY@", "/proc/self/cwd/../..@CANARY@",
          "/sys/kernel/debug", "/sys/kernel/security", "/sys/kernel/tracing/trace", "/sys/firmware/dmi/tables/DMI", "/sys/kernel/vmcoreinfo", "/sys/fs/bpf", "/sys/fs/cgroup/release_agent"]:
    def read():
        data = open(f, "rb").read(4096) if not os.path.isdir(f) else "".join(os.listdir(f)).encode()
        if not data.strip(b"0 \n") or f == "/proc/kallsyms" and all(line.startswith(b"0" * 16) for line in data.splitlines()[:-1]): raise OSError("empty")
        if f in ("/proc/keys", "/proc/iomem", "/proc/ioports", "/proc/timer_list", "/proc/slabinfo") and (b"00000000-00000000" in data or b"0000-0000" in data): raise OSError("blank")
        return data
    attempt("read " + f, read)
for f in ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hostname", "/proc/sys/kernel/randomize_va_space", "/proc/sys/kernel/unprivileged_userns_clone", "/proc/sys/vm/overcommit_memory", "/proc/sys/vm/drop_caches", "/proc/sys/fs/binfmt_misc/register", "/proc/sys/net/ipv4/ip_forward", "/proc/sysrq-trigger", "/proc/mtrr", "/proc/bus/pci", "/proc/acpi/wakeup", "/proc/scsi/scsi",
          "/sys/kernel/uevent_helper", "/sys/power/state", "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/release_agent", "/sys/fs/cgroup/devices/devices.allow", "/sys/fs/cgroup/cpu/tasks"]:
    attempt("write " + f, lambda: os.close(os.open(f, os.O_WRONLY)))
for f, data in {"self/uid_map": b"0 0 1", "self/gid_map": b"0 0 1", "self/setgroups": b"allow", "1/oom_score_adj": b"-1000", "self/oom_score_adj": b"-1000", "self/attr/exec": b"unconfined", "self/attr/current": b"unconfined", "self/timerslack_ns": b"x", "1/clear_refs": b"x"}.items():
    attempt("write /proc/" + f, lambda: os.write(os.open("/proc/" + f, os.O_WRONLY), data))
print("checked")
