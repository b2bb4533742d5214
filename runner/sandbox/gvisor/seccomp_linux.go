package gvisor

import (
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// gVisor's kernel answers the guest's system calls, and this filter runs in that kernel. It refuses calls that scripts do not need, before
// their code runs, and calls that would leave unusual files in the workspace: set-user-ID files, device nodes, FIFOs, extended attributes.
// It can only refuse with EPERM, so it leaves calls to gVisor that must fail with another error for libraries to fall back (clone3).

// has is the condition that all the bits are set.
func has(index uint, bits uint64) specs.LinuxSeccompArg {
	return specs.LinuxSeccompArg{Index: index, Value: bits, ValueTwo: bits, Op: specs.OpMaskedEqual}
}

// equals is the condition that a 32-bit argument has a value. The upper half of the register is ignored.
func equals(index uint, value uint32) specs.LinuxSeccompArg {
	return specs.LinuxSeccompArg{Index: index, Value: 0xffffffff, ValueTwo: uint64(value), Op: specs.OpMaskedEqual}
}

// filter returns the filter. It also refuses to change a file's group to one of groups, which are real groups on the host.
func filter(groups []uint32, network bool) *specs.LinuxSeccomp {
	f := &specs.LinuxSeccomp{DefaultAction: specs.ActAllow}
	refuse := func(names []string, when ...specs.LinuxSeccompArg) {
		f.Syscalls = append(f.Syscalls, specs.LinuxSyscall{Names: names, Action: specs.ActErrno, Args: when})
	}
	refuse([]string{
		// Other processes, keys, rings and tracing.
		"ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "process_madvise", "pidfd_getfd", "seccomp",
		"keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd",
		"io_uring_setup", "io_uring_enter", "io_uring_register", "io_setup", "io_destroy", "io_submit", "io_cancel", "io_getevents", "io_pgetevents",
		// Namespaces, mounts, roots.
		"setns", "mount", "umount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
		// The machine.
		"init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff", "acct", "quotactl", "syslog",
		"sethostname", "setdomainname", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "iopl", "ioperm", "modify_ldt", "vhangup", "lookup_dcookie", "sync", "syncfs",
		"personality", "mbind", "set_mempolicy", "migrate_pages", "move_pages",
		// Files by handle, file events of others, special files, extended attributes.
		"open_by_handle_at", "name_to_handle_at", "fanotify_init", "fanotify_mark", "openat2", "mknod", "mknodat",
		"setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr",
	})
	// Unix sockets only, and no descriptors passed through them: while in flight they count for no process.
	family := uint64(unix.AF_UNIX)
	if network { // TCP, within the sandbox; a Unix socket could be connected to
		family = unix.AF_INET
		refuse([]string{"socket"}, specs.LinuxSeccompArg{Index: 1, Value: 0xf, ValueTwo: unix.SOCK_DGRAM, Op: specs.OpMaskedEqual})
		refuse([]string{"socket"}, specs.LinuxSeccompArg{Index: 2, Value: unix.IPPROTO_TCP, Op: specs.OpGreaterThan}) // MPTCP, SCTP and others, which are streams too
		refuse([]string{"setsockopt"}, equals(2, unix.TCP_ULP))
		refuse([]string{"socket"}, specs.LinuxSeccompArg{Index: 1, Value: 0xf, ValueTwo: unix.SOCK_RAW, Op: specs.OpMaskedEqual})
	}
	refuse([]string{"socket"}, specs.LinuxSeccompArg{Index: 0, Value: family, Op: specs.OpNotEqual})
	refuse([]string{"socketpair"}, specs.LinuxSeccompArg{Index: 0, Value: unix.AF_UNIX, Op: specs.OpNotEqual})
	refuse([]string{"sendmsg", "sendmmsg"})
	const (
		setUserID, setGroupID = 0o4000, 0o2000
		create                = 0o100   // O_CREAT
		unnamed               = 1 << 22 // the only bit that is O_TMPFILE's alone
	)
	for _, bit := range []uint64{setUserID, setGroupID} {
		refuse([]string{"chmod", "fchmod", "creat"}, has(1, bit))
		refuse([]string{"fchmodat", "fchmodat2"}, has(2, bit))
		for _, made := range []uint64{create, unnamed} {
			refuse([]string{"open"}, has(1, made), has(2, bit))
			refuse([]string{"openat"}, has(2, made), has(3, bit))
		}
	}
	for _, gid := range groups {
		refuse([]string{"chown", "lchown", "fchown"}, equals(2, gid))
		refuse([]string{"fchownat"}, equals(3, gid))
	}
	// New namespaces: mount, cgroup, UTS, IPC, user, PID, network. clone cannot create a time namespace. Entering the sandbox needs unshare
	// for descriptors; see enter.
	for _, bit := range []uint64{0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000} {
		refuse([]string{"clone", "unshare"}, has(0, bit))
	}
	refuse([]string{"unshare"}, has(0, 0x80))
	return f
}
