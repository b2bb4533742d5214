//go:build linux && (amd64 || arm64)

// Package seccomp is the system-call filter of sandboxed processes: the list of allowed calls, the reason for each call that is missing or
// restricted to certain arguments, and the translation to the kernel's form. Use [Install].
package seccomp

import (
	"fmt"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// allowed lists the calls that node, CPython and the Go runtime use, except those that reach another process's memory, a namespace, a
// mount, a key ring, a socket address, or a part of the kernel that scripts do not need. memfd_create is left out on purpose, because its
// memory is in no process's resident set, so that no watchdog sees it. So are mknod and mknodat, which mkfifo uses: opening a named pipe
// waits for the other end, and the host and later runs open files in the workspace.
func allowed() []uintptr {
	return append([]uintptr{
		// bytes and descriptors
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_PWRITE64,
		unix.SYS_PREADV, unix.SYS_PWRITEV, unix.SYS_PREADV2, unix.SYS_PWRITEV2, unix.SYS_LSEEK, unix.SYS_CLOSE,
		unix.SYS_DUP, unix.SYS_DUP3, unix.SYS_PIPE2, unix.SYS_SENDFILE,
		unix.SYS_COPY_FILE_RANGE, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_SYNC_FILE_RANGE, unix.SYS_FADVISE64,
		unix.SYS_READAHEAD, unix.SYS_FLOCK, unix.SYS_FCNTL, unix.SYS_FTRUNCATE, unix.SYS_TRUNCATE, unix.SYS_FALLOCATE,
		// waiting
		unix.SYS_PPOLL, unix.SYS_PSELECT6, unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT,
		unix.SYS_EPOLL_PWAIT2, unix.SYS_EVENTFD2, unix.SYS_SIGNALFD4, unix.SYS_INOTIFY_INIT1, unix.SYS_INOTIFY_ADD_WATCH,
		unix.SYS_INOTIFY_RM_WATCH, unix.SYS_TIMERFD_CREATE, unix.SYS_TIMERFD_SETTIME, unix.SYS_TIMERFD_GETTIME,
		// files by name
		unix.SYS_FSTAT, unix.SYS_NEWFSTATAT, unix.SYS_STATX, unix.SYS_STATFS, unix.SYS_FSTATFS,
		unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2, unix.SYS_READLINKAT, unix.SYS_GETDENTS64, unix.SYS_GETCWD, unix.SYS_CHDIR,
		unix.SYS_FCHDIR, unix.SYS_MKDIRAT, unix.SYS_UNLINKAT, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2,
		unix.SYS_LINKAT, unix.SYS_SYMLINKAT, unix.SYS_FCHOWN,
		unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT, unix.SYS_UMASK, unix.SYS_GETXATTR, unix.SYS_LGETXATTR, unix.SYS_FGETXATTR,
		unix.SYS_LISTXATTR, unix.SYS_LLISTXATTR, unix.SYS_FLISTXATTR, unix.SYS_SETXATTR, unix.SYS_LSETXATTR,
		unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR,
		// memory
		unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_MSYNC,
		unix.SYS_MINCORE, unix.SYS_MLOCK, unix.SYS_MUNLOCK, unix.SYS_MLOCK2, unix.SYS_BRK, unix.SYS_PKEY_ALLOC,
		unix.SYS_PKEY_FREE, unix.SYS_PKEY_MPROTECT, unix.SYS_MEMBARRIER, unix.SYS_MAP_SHADOW_STACK, unix.SYS_MSEAL,
		// processes, threads, signals
		unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_WAIT4, unix.SYS_WAITID, unix.SYS_KILL, unix.SYS_TKILL,
		unix.SYS_TGKILL, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK,
		unix.SYS_RT_SIGRETURN, unix.SYS_RT_SIGPENDING, unix.SYS_RT_SIGSUSPEND, unix.SYS_RT_SIGTIMEDWAIT,
		unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
		unix.SYS_FUTEX, unix.SYS_FUTEX_WAITV, unix.SYS_FUTEX_WAKE, unix.SYS_FUTEX_WAIT, unix.SYS_FUTEX_REQUEUE,
		unix.SYS_SET_ROBUST_LIST, unix.SYS_GET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_SET_TID_ADDRESS,
		unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_GETPARAM,
		unix.SYS_SCHED_GETSCHEDULER, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_GETATTR, unix.SYS_SCHED_GET_PRIORITY_MAX,
		unix.SYS_SCHED_GET_PRIORITY_MIN, unix.SYS_SCHED_RR_GET_INTERVAL, unix.SYS_GETPRIORITY, unix.SYS_SETPRIORITY,
		unix.SYS_SETPGID, unix.SYS_GETPGID, unix.SYS_SETSID, unix.SYS_GETSID, unix.SYS_GETCPU,
		// identity
		unix.SYS_GETPID, unix.SYS_GETPPID, unix.SYS_GETTID, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID,
		unix.SYS_GETEGID, unix.SYS_GETRESUID, unix.SYS_GETRESGID, unix.SYS_GETGROUPS, unix.SYS_CAPGET, unix.SYS_UNAME,
		unix.SYS_SYSINFO, unix.SYS_GETRLIMIT, unix.SYS_SETRLIMIT, unix.SYS_PRLIMIT64, unix.SYS_GETRUSAGE, unix.SYS_TIMES,
		unix.SYS_GETRANDOM,
		// time
		unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_NANOSLEEP, unix.SYS_GETTIMEOFDAY,
		unix.SYS_GETITIMER, unix.SYS_SETITIMER, unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_GETTIME,
		unix.SYS_TIMER_GETOVERRUN, unix.SYS_TIMER_DELETE,
		// sockets that are already connected: the bridge and the pipes of child processes; no bind, no connect, no accept. No sendmsg,
		// because a descriptor that was sent but not received holds a file that the watchdog cannot find.
		unix.SYS_SENDTO, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RECVMMSG,
		unix.SYS_SHUTDOWN, unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME, unix.SYS_GETSOCKOPT, unix.SYS_SETSOCKOPT,
	}, archAllowed()...)
}

// modeArg is a call that sets a file's permissions: its number, and the index of the argument with the permissions.
type modeArg struct {
	nr  uintptr
	arg uint32
}

// modes and opens are allowed unless they make a file set-user-ID or set-group-ID. Such a file would be in the workspace on the host,
// belong to the user of mcprun, and run the script's code with that user's rights when another user starts it.
func modes() []modeArg {
	return append([]modeArg{
		{unix.SYS_FCHMOD, 1}, {unix.SYS_FCHMODAT, 2}, {unix.SYS_FCHMODAT2, 2},
	}, archModes()...)
}

// opens are the calls whose permissions count only if their flags, in the preceding argument, create a file.
func opens() []modeArg { return append([]modeArg{{unix.SYS_OPENAT, 3}}, archOpens()...) }

// absent are calls that programs try first and replace if the kernel returns ENOSYS. Refusing them with EPERM would break the program.
// clone3 and openat2 take their arguments in memory, where no filter can look.
func absent() []uintptr { return []uintptr{unix.SYS_CLONE3, unix.SYS_OPENAT2} }

const (
	setID         = unix.S_ISUID | unix.S_ISGID
	makesAFile    = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	newestKnown   = unix.SYS_RSEQ_SLICE_YIELD // anything newer gets the answer "no such call"
	newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

	retAllow = uint32(unix.SECCOMP_RET_ALLOW)
	retPerm  = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EPERM)
	retNosys = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.ENOSYS)
	retKill  = uint32(unix.SECCOMP_RET_KILL_PROCESS)

	// offsets in struct seccomp_data; arguments are 64 bits, low half first on both architectures
	offNr, offArch, offArgs = 0, 4, 16
)

// filter builds the system-call filter of [Install].
func filter(noProcesses, noShared, network bool) []bpf.Instruction {
	prog := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		ret(retKill),
		bpf.LoadAbsolute{Off: offNr, Size: 4},
	}
	// on adds a block that runs for one call; the block must end in a return.
	on := func(nr uintptr, block ...bpf.Instruction) {
		prog = append(prog, bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(nr), SkipFalse: uint8(len(block))})
		prog = append(prog, block...)
	}
	for _, nr := range allowed() {
		if nr != unix.SYS_SETSOCKOPT || !network {
			on(nr, ret(retAllow))
		}
	}
	on(unix.SYS_MMAP, mapping(noShared)...)
	// A process that is not dumpable hides its files from the watchdog of an ordinary user.
	on(unix.SYS_PRCTL, arg(0),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.PR_SET_DUMPABLE, SkipTrue: 1},
		ret(retAllow), ret(retPerm))
	on(unix.SYS_CLONE, cloning(noProcesses)...)
	on(unix.SYS_CLOSE_RANGE, arg(2),
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.CLOSE_RANGE_UNSHARE, SkipTrue: 1}, // as above, a thread's own files
		ret(retAllow), ret(retPerm))
	if !noProcesses {
		for _, nr := range append(archForks(), unix.SYS_EXECVE, unix.SYS_EXECVEAT) {
			on(nr, ret(retAllow))
		}
	}
	for _, m := range modes() {
		on(m.nr, arg(m.arg),
			bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: setID, SkipTrue: 1},
			ret(retAllow), ret(retPerm))
	}
	for _, m := range opens() {
		on(m.nr, arg(m.arg-1),
			bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: makesAFile, SkipFalse: 2},
			arg(m.arg),
			bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: setID, SkipTrue: 1},
			ret(retAllow), ret(retPerm))
	}
	// Only connected stream pairs are allowed: a datagram socket could send to any socket file in the workspace. With a network, sockets
	// can be connected, so none may be a Unix socket.
	family := map[uintptr]uint32{unix.SYS_SOCKET: unix.AF_UNIX, unix.SYS_SOCKETPAIR: unix.AF_UNIX}
	if network {
		family[unix.SYS_SOCKET] = unix.AF_INET
		// Not TCP_ULP, which gives a connection to other parts of the kernel.
		on(unix.SYS_SETSOCKOPT, arg(2),
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.TCP_ULP, SkipTrue: 1},
			ret(retAllow), ret(retPerm))
		for _, nr := range []uintptr{unix.SYS_BIND, unix.SYS_CONNECT, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4} {
			on(nr, ret(retAllow))
		}
	}
	for _, nr := range []uintptr{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
		on(nr, arg(0),
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: family[nr], SkipTrue: 7},
			arg(1),
			bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xf},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SOCK_STREAM, SkipTrue: 4},
			arg(2), // not MPTCP, SCTP and others, which are streams too
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.IPPROTO_TCP, SkipTrue: 1},
			ret(retAllow), ret(retPerm))
	}
	on(unix.SYS_IOCTL, arg(1),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.TIOCSTI, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: tiocLinux, SkipTrue: 1},
		ret(retAllow), ret(retPerm))
	for _, nr := range absent() {
		on(nr, ret(retNosys))
	}
	return append(prog,
		bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: newestKnown, SkipTrue: 1},
		ret(retPerm),
		// x32 calls carry this bit; they are known and refused.
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: 0x40000000, SkipTrue: 1},
		ret(retNosys), ret(retPerm))
}

const tiocLinux = 0x541c

func ret(v uint32) bpf.Instruction { return bpf.RetConstant{Val: v} }

// arg loads the low half of an argument.
func arg(n uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: offArgs + 8*n, Size: 4} }

// mapping filters mmap. Huge pages are reserved for other programs, and memory figures do not include them.
func mapping(noShared bool) []bpf.Instruction {
	huge := bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.MAP_HUGETLB, SkipTrue: 1}
	if !noShared {
		return []bpf.Instruction{arg(3), huge, ret(retAllow), ret(retPerm)}
	}
	huge.SkipTrue = 2
	return []bpf.Instruction{
		arg(3), huge,
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.MAP_ANONYMOUS, SkipFalse: 2},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.MAP_SHARED, SkipFalse: 1}, // and MAP_SHARED_VALIDATE
		ret(retPerm), ret(retAllow),
	}
}

// cloning filters clone. A thread must share the files of its process, where the watchdog looks for them.
func cloning(threadsOnly bool) []bpf.Instruction {
	process := ret(retAllow)
	if threadsOnly {
		process = ret(retPerm)
	}
	return []bpf.Instruction{
		arg(0),
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: newNamespaces, SkipTrue: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.CLONE_THREAD, SkipFalse: 2},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.CLONE_FILES, SkipFalse: 2},
		ret(retAllow), process, ret(retPerm),
	}
}

// Install installs the filter on every thread of this process, which must have set no_new_privs. noProcesses also refuses to start
// processes and programs, but still allows threads. noShared refuses memory that processes share without a file: all of it stays allocated
// while one page is mapped anywhere, but a process's figures include only the pages that it has touched. network allows TCP over IPv4.
func Install(noProcesses, noShared, network bool) error {
	raw, err := bpf.Assemble(filter(noProcesses, noShared, network))
	if err != nil {
		return fmt.Errorf("assemble the system-call filter: %w", err)
	}
	prog := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		prog[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	tid, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		return fmt.Errorf("install the system-call filter: %w", errno)
	}
	if tid != 0 {
		return fmt.Errorf("install the system-call filter: thread %d could not be synchronised", tid)
	}
	return nil
}
