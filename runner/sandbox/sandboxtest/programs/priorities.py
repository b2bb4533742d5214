import resource
attempt("nice", lambda: os.nice(-5))
attempt("priority of the first process", lambda: os.setpriority(os.PRIO_PROCESS, 1, -20))
attempt("priority of root", lambda: os.setpriority(os.PRIO_USER, 0, -20))
for policy in (os.SCHED_FIFO, os.SCHED_RR):
    attempt("real time", lambda: os.sched_setscheduler(0, policy, os.sched_param(50)))
for what in ("NOFILE", "NPROC", "FSIZE", "CPU", "AS", "MEMLOCK", "RTPRIO", "NICE", "CORE"):
    number = getattr(resource, "RLIMIT_" + what)
    soft, hard = resource.getrlimit(number)
    if hard == resource.RLIM_INFINITY: continue
    attempt("raise " + what, lambda: resource.setrlimit(number, (hard, hard + 1)))
    attempt("raise " + what + " of the first process", lambda: resource.prlimit(1, number, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)))
if resource.getrlimit(resource.RLIMIT_CORE)[0] != 0: leak("core dumps", resource.getrlimit(resource.RLIMIT_CORE))
attempt("spared by the killer", lambda: os.write(os.open("/proc/self/oom_score_adj", os.O_WRONLY), b"-1000"))
attempt("locked memory", lambda: 1 / 0 if syscall(149, 228, 0, 1 << 30) else "1 GiB")
print("checked")
