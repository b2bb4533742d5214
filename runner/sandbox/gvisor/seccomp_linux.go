package gvisor

import (
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// The guest's system calls are answered by gVisor's kernel. This filter is in front of it, inside: what a script has no
// use for is refused before that kernel's code for it runs, and what would leave traces on the host that outlast the
// guest (set-user-ID files in the workspace, device nodes, FIFOs, extended attributes) is not done at all.
// Unlike a filter of the host's kernel it can refuse with one error number only, EPERM; what must fail otherwise for
// libraries to find another way (clone3) is left to gVisor.

// has is the condition that all bits are set.
func has(index uint, bits uint64) specs.LinuxSeccompArg {
	return specs.LinuxSeccompArg{Index: index, Value: bits, ValueTwo: bits, Op: specs.OpMaskedEqual}
}

// equals is the condition that an argument of 32 bits has a value; what a register holds above them does not count.
func equals(index uint, value uint32) specs.LinuxSeccompArg {
	return specs.LinuxSeccompArg{Index: index, Value: 0xffffffff, ValueTwo: uint64(value), Op: specs.OpMaskedEqual}
}

// filter also refuses to give files to the groups that the guest is in by courtesy: on the host they are true ones.
func filter(groups []uint32) *specs.LinuxSeccomp {
	f := &specs.LinuxSeccomp{DefaultAction: specs.ActAllow}
	refuse := func(names []string, when ...specs.LinuxSeccompArg) {
		f.Syscalls = append(f.Syscalls, specs.LinuxSyscall{Names: names, Action: specs.ActErrno, Args: when})
	}
	refuse([]string{
		// Other processes, and what is no process's own.
		"ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "process_madvise", "pidfd_getfd", "seccomp",
		"keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd",
		"io_uring_setup", "io_uring_enter", "io_uring_register", "io_setup", "io_destroy", "io_submit", "io_cancel", "io_getevents", "io_pgetevents",
		// Namespaces, mounts, roots.
		"unshare", "setns", "mount", "umount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
		// The machine.
		"init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff", "acct", "quotactl", "syslog",
		"sethostname", "setdomainname", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "iopl", "ioperm", "modify_ldt", "vhangup", "lookup_dcookie", "sync", "syncfs",
		"personality", "mbind", "set_mempolicy", "migrate_pages", "move_pages",
		// Files by other ways than their names, events of others, and kinds of files that are none.
		"open_by_handle_at", "name_to_handle_at", "fanotify_init", "fanotify_mark", "openat2", "mknod", "mknodat",
		"setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr",
	})
	// Unix sockets only, and no descriptors through them: those are in no process's count while they travel.
	refuse([]string{"socket", "socketpair"}, specs.LinuxSeccompArg{Index: 0, Value: unix.AF_UNIX, Op: specs.OpNotEqual})
	refuse([]string{"sendmsg", "sendmmsg"})
	const (
		setUserID, setGroupID = 0o4000, 0o2000
		create                = 0o100   // O_CREAT
		unnamed               = 1 << 22 // the bit that is O_TMPFILE's own
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
	// What clone makes new: mounts, control groups, names, messages, users, processes, network.
	for _, bit := range []uint64{0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000} {
		refuse([]string{"clone"}, has(0, bit))
	}
	return f
}
