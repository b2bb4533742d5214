//go:build linux && (amd64 || arm64)

package jail_test

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
)

const (
	surfaceEntry = "surface"
	panicEntry   = "panic"
)

// forbidden are calls that must be refused whatever their arguments.
func forbidden() map[string][]uintptr {
	path := uintptr(unsafe.Pointer(unsafe.StringData("/tmp\x00")))
	return map[string][]uintptr{
		"mount": {unix.SYS_MOUNT, path, path, path}, "umount2": {unix.SYS_UMOUNT2, path}, "pivot_root": {unix.SYS_PIVOT_ROOT, path, path},
		"chroot": {unix.SYS_CHROOT, path}, "unshare": {unix.SYS_UNSHARE, unix.CLONE_NEWUSER}, "setns": {unix.SYS_SETNS, 0},
		"clone newuser": {unix.SYS_CLONE, unix.CLONE_NEWUSER | uintptr(unix.SIGCHLD)},
		"clone newnet":  {unix.SYS_CLONE, unix.CLONE_NEWNET | uintptr(unix.SIGCHLD)},
		"ptrace":        {unix.SYS_PTRACE, 0}, "process_vm_readv": {unix.SYS_PROCESS_VM_READV, 1}, "process_vm_writev": {unix.SYS_PROCESS_VM_WRITEV, 1},
		"bpf": {unix.SYS_BPF}, "perf_event_open": {unix.SYS_PERF_EVENT_OPEN}, "io_uring_setup": {unix.SYS_IO_URING_SETUP, 1},
		"io_uring_enter": {unix.SYS_IO_URING_ENTER}, "io_uring_register": {unix.SYS_IO_URING_REGISTER},
		"keyctl": {unix.SYS_KEYCTL}, "add_key": {unix.SYS_ADD_KEY}, "request_key": {unix.SYS_REQUEST_KEY},
		"userfaultfd": {unix.SYS_USERFAULTFD, 1}, "kexec_load": {unix.SYS_KEXEC_LOAD}, "init_module": {unix.SYS_INIT_MODULE},
		"finit_module": {unix.SYS_FINIT_MODULE}, "delete_module": {unix.SYS_DELETE_MODULE}, "reboot": {unix.SYS_REBOOT},
		"swapon": {unix.SYS_SWAPON, path}, "swapoff": {unix.SYS_SWAPOFF, path}, "open_by_handle_at": {unix.SYS_OPEN_BY_HANDLE_AT},
		"name_to_handle_at": {unix.SYS_NAME_TO_HANDLE_AT}, "quotactl": {unix.SYS_QUOTACTL}, "acct": {unix.SYS_ACCT},
		"settimeofday": {unix.SYS_SETTIMEOFDAY}, "clock_settime": {unix.SYS_CLOCK_SETTIME}, "adjtimex": {unix.SYS_ADJTIMEX},
		"sethostname": {unix.SYS_SETHOSTNAME, path, 1}, "syslog": {unix.SYS_SYSLOG, 3}, "personality": {unix.SYS_PERSONALITY, 0x0008},
		"socket inet": {unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM}, "socket inet6": {unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_DGRAM},
		"socket netlink": {unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW}, "socket packet": {unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_RAW},
		"socket vsock": {unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM}, "socket alg": {unix.SYS_SOCKET, unix.AF_ALG, unix.SOCK_SEQPACKET},
		"socket unix datagram":     {unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_DGRAM},
		"socketpair unix datagram": {unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_DGRAM},
		"connect":                  {unix.SYS_CONNECT, 3}, "bind": {unix.SYS_BIND, 3}, "listen": {unix.SYS_LISTEN, 3}, "accept4": {unix.SYS_ACCEPT4, 3},
		"memfd_create": {unix.SYS_MEMFD_CREATE, path}, "memfd_secret": {unix.SYS_MEMFD_SECRET}, "pidfd_getfd": {unix.SYS_PIDFD_GETFD},
		"fsopen": {unix.SYS_FSOPEN, path}, "open_tree": {unix.SYS_OPEN_TREE, 0, path}, "move_mount": {unix.SYS_MOVE_MOUNT},
		"mount_setattr": {unix.SYS_MOUNT_SETATTR}, "seccomp": {unix.SYS_SECCOMP}, "shmget": {unix.SYS_SHMGET}, "msgget": {unix.SYS_MSGGET},
		"ioctl TIOCSTI": {unix.SYS_IOCTL, 0, unix.TIOCSTI, path}, "ioctl TIOCSTI with high bits": {unix.SYS_IOCTL, 0, 1<<32 | unix.TIOCSTI, path},
		"fchmodat set-user-ID": {unix.SYS_FCHMODAT, 0, path, 0o4755}, "fchmod set-group-ID": {unix.SYS_FCHMOD, 0, 0o2755},
		"openat set-user-ID": {unix.SYS_OPENAT, 0, path, unix.O_CREAT | unix.O_WRONLY, 0o4755},
		"openat unnamed":     {unix.SYS_OPENAT, 0, path, unix.O_TMPFILE | unix.O_WRONLY, 0o4755},
		"mknodat named pipe": {unix.SYS_MKNODAT, 0, path, unix.S_IFIFO | 0o666}, "mknodat socket": {unix.SYS_MKNODAT, 0, path, unix.S_IFSOCK | 0o666},
		"mknodat device": {unix.SYS_MKNODAT, 0, path, unix.S_IFCHR | 0o666, 0x105}, "mknodat file": {unix.SYS_MKNODAT, 0, path, unix.S_IFREG | 0o666},
		"setuid": {unix.SYS_SETUID, 0}, "setgroups": {unix.SYS_SETGROUPS, 0, 0}, "capset": {unix.SYS_CAPSET},
		"mmap huge pages":                      {unix.SYS_MMAP, 0, 1 << 21, unix.PROT_READ, unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_HUGETLB, ^uintptr(0)},
		"prctl dumpable":                       {unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0},
		"close_range unshare":                  {unix.SYS_CLOSE_RANGE, 1000, 1001, unix.CLOSE_RANGE_UNSHARE},
		"clone a thread with files of its own": {unix.SYS_CLONE, unix.CLONE_VM | unix.CLONE_SIGHAND | unix.CLONE_THREAD},
		"sendmsg":                              {unix.SYS_SENDMSG, 3}, "sendmmsg": {unix.SYS_SENDMMSG, 3}, "vmsplice": {unix.SYS_VMSPLICE}, "splice": {unix.SYS_SPLICE}, "kcmp": {unix.SYS_KCMP}, "fanotify_init": {unix.SYS_FANOTIFY_INIT},
	}
}

// surface prints every forbidden call that was not refused with EPERM, and the calls that should be absent but are not.
func surface(jail.Inside) int {
	for name, c := range forbidden() {
		args := append(c, 0, 0, 0, 0, 0, 0)
		if _, _, errno := unix.Syscall6(args[0], args[1], args[2], args[3], args[4], args[5], args[6]); errno != unix.EPERM {
			fmt.Printf("%s: %v\n", name, errno)
		}
	}
	for name, nr := range map[string]uintptr{"clone3": unix.SYS_CLONE3, "openat2": unix.SYS_OPENAT2, "from the future": 1000} {
		if _, _, errno := unix.Syscall6(nr, 0, 0, 0, 0, 0, 0); errno != unix.ENOSYS {
			fmt.Printf("%s: %v, want ENOSYS\n", name, errno)
		}
	}
	// A function must not start processes in either way.
	if _, _, errno := unix.Syscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0); errno != unix.EPERM {
		fmt.Printf("fork: %v\n", errno)
	}
	if errno := unix.Exec("/proc/self/exe", []string{"x"}, nil); errno != unix.EPERM {
		fmt.Printf("exec: %v\n", errno)
	}
	// Every thread is confined, not only the one that installed the filter.
	done := make(chan error)
	go func() { _, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); done <- err }()
	if err := <-done; err != unix.EPERM {
		fmt.Printf("on another thread: %v\n", err)
	}
	if err := unix.Unlink("/dev/null"); err == nil {
		fmt.Println("removed /dev/null")
	}
	fmt.Println("end")
	return 0
}

func TestKernelSurface(t *testing.T) {
	for _, noNamespaces := range []bool{false, true} {
		got := run(t, jail.Config{ID: "s", Entry: surfaceEntry, AllowNoNamespaces: noNamespaces})
		if got.stdout != "end\n" || got.Code != 0 {
			t.Errorf("not refused, want %q and Code 0:\n%s\n%+v", "end\n", got.stdout, got)
		}
	}
}

func TestPanicOfAFunctionIsItsOwn(t *testing.T) {
	got := run(t, jail.Config{ID: "p", Entry: panicEntry})
	if got.Code != 2 || !strings.Contains(got.stderr, "panic: boom") {
		t.Errorf(`got %+v, want Code 2 and "panic: boom" in it`, got)
	}
}
