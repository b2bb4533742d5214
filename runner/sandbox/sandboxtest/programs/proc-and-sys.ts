const fs = await mod("node:fs");
for (const f of ["/proc/kcore", "/proc/kmsg", "/proc/kpageflags", "/proc/sched_debug", "/proc/1/root@CANARY@", "/proc/self/root@CANARY@", "/proc/self/cwd/../..@CANARY@", "/sys/firmware/dmi/tables/DMI", "/sys/kernel/vmcoreinfo", "/sys/fs/cgroup/release_agent"])
  await attempt("read " + f, () => { const fd = fs.openSync(f, "r"); const b = Buffer.alloc(100); const n = fs.readSync(fd, b, 0, 100, null); fs.closeSync(fd); if (!n) throw 0; return b; });
for (const f of ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hostname", "/proc/sys/vm/overcommit_memory", "/proc/sys/vm/drop_caches", "/proc/sys/fs/binfmt_misc/register", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper", "/sys/power/state",
  "/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/release_agent", "/sys/fs/cgroup/devices/devices.allow"])
  await attempt("write " + f, () => fs.closeSync(fs.openSync(f, fs.constants.O_WRONLY)));
for (const [f, data] of [["self/uid_map", "0 0 1"], ["self/gid_map", "0 0 1"], ["1/oom_score_adj", "-1000"], ["self/oom_score_adj", "-1000"], ["self/attr/current", "unconfined"]])
  await attempt("write /proc/" + f, () => fs.writeFileSync("/proc/" + f, data));
console.log("checked");
