"""Measures what a guest has used, from the container's own control group and the workspace's file system."""

import os

V1, V2 = "/sys/fs/cgroup/{}/{}", "/sys/fs/cgroup/{1}"
# The file with each figure, for versions 1 and 2 of control groups, and the line in it.
OOMS = (("memory", "memory.oom_control", "oom_kill"), ("memory", "memory.events", "oom_kill"))
PEAK = (("memory", "memory.max_usage_in_bytes", ""), ("memory", "memory.peak", ""))
FORKS = (("pids", "pids.events", "max"), ("pids", "pids.events", "max"))
CPU = (("cpuacct", "cpuacct.usage", ""), ("cpu", "cpu.stat", "usage_usec"))


def read(where):
    """Read one figure, or return zero if the container cannot see it."""
    old, new = where
    for pattern, (group, name, word) in ((V2, new), (V1, old)):
        try:
            with open(pattern.format(group, name), "rb", 0) as file:
                lines = file.read(8192).decode().splitlines()
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields and (fields[0] == word if word else len(fields) == 1) and fields[-1].isdigit():
                return int(fields[-1]) * (1000 if word == "usage_usec" else 1)
    return 0


class Meter:
    def __init__(self):
        self.disk = None
        self.cpu = 0  # nanoseconds of all processes; zero means no limit
        self.spent = 0
        self.told = set()

    def begin(self, cpu):
        """Start counting for a run. Return false if processor time is limited but the container cannot see it."""
        self.cpu, self.spent = cpu, read(CPU)
        return self.spent > 0 or not cpu

    def watch(self, max_bytes, max_files):
        st = os.statvfs("/workspace")
        self.disk = (max_bytes, max_files + st.f_files - st.f_ffree)

    def watching(self):
        return bool(self.cpu or self.disk)

    def passed(self):
        """Name the limits that were exceeded since the last call."""
        found = []
        if self.cpu and read(CPU) - self.spent >= self.cpu:
            found.append("cpu")
        if self.disk:
            st = os.statvfs("/workspace")
            used = (st.f_blocks - st.f_bfree) * st.f_frsize
            if used > self.disk[0] or st.f_files - st.f_ffree > self.disk[1]:
                found.append("disk")
        found = [name for name in found if name not in self.told]
        self.told.update(found)
        return found

    def figures(self):
        """Return processes killed for lack of memory, processes refused, processor time in nanoseconds, and peak memory in bytes."""
        return min(read(OOMS), 0xFFFFFFFF), min(read(FORKS), 0xFFFFFFFF), max(read(CPU) - self.spent, 0), read(PEAK)
