package docker_test

import (
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// The system calls by which containers have been left before; each is named with its number for x86-64, and with what
// it would do were it let through.
func TestSystemCallsAreRefused(t *testing.T) {
	if goarch() != "amd64" {
		cannotRun(t, "the numbers are those of x86-64")
	}
	b := newBackend(t)
	got := report[map[string]int](t, newGuest(t, sandbox.Python, `
import ctypes, json
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
calls = {
  "io_uring_setup": (425, 8, ctypes.create_string_buffer(120)), "keyctl": (250, 0, -3, 0), "add_key": (248, b"user", b"k", b"v", 1, -3), "request_key": (249, b"user", b"k", 0, -3),
  "ptrace": (101, 0, 0, 0, 0), "process_vm_readv": (310, 1, 0, 0, 0, 0, 0), "process_vm_writev": (311, 1, 0, 0, 0, 0, 0), "kcmp": (312, 1, 1, 0, 0, 0), "pidfd_getfd": (438, 3, 0, 0),
  "unshare user": (272, 0x10000000), "unshare net": (272, 0x40000000), "setns": (308, 0, 0), "clone newuser": (56, 0x10000000 | 17, 0, 0, 0, 0), "clone3": (435, ctypes.create_string_buffer(88), 88),
  "mount": (165, b"none", b"/tmp", b"tmpfs", 0, 0), "umount2": (166, b"/tmp", 2), "pivot_root": (155, b"/tmp", b"/tmp"), "chroot": (161, b"/tmp"),
  "open_tree": (428, -100, b"/", 0), "fsopen": (430, b"tmpfs", 0), "move_mount": (429, -100, b"/tmp", -100, b"/tmp", 0), "mount_setattr": (442, -100, b"/", 0, 0, 0),
  "bpf": (321, 0, 0, 0), "perf_event_open": (298, 0, 0, 0, 0, 0), "userfaultfd": (323, 0), "seccomp": (317, 0, 0, 0), "personality": (135, 0x0040000),
  "init_module": (175, 0, 0, 0), "finit_module": (313, 0, 0, 0), "kexec_load": (246, 0, 0, 0, 0), "reboot": (169, 0, 0, 0, 0), "swapon": (167, b"/tmp", 0), "syslog": (103, 10, 0, 0),
  "name_to_handle_at": (303, -100, b"/", 0, 0, 0), "open_by_handle_at": (304, 0, 0, 0), "fanotify_init": (300, 0, 0), "quotactl": (179, 0, 0, 0, 0), "mknod": (133, b"/tmp/n", 0o10600, 0),
  "setuid": (105, 0), "setgroups": (116, 0, 0), "capset": (126, 0, 0), "memfd_create": (319, b"x", 0), "memfd_secret": (447, 0), "vmsplice": (278, 0, 0, 0, 0), "splice": (275, 0, 0, 0, 0, 0, 0),
  "shmget": (29, 0, 4096, 0o1600), "msgget": (68, 0, 0o1600), "mq_open": (240, b"q", 0o100, 0o600, 0), "modify_ldt": (154, 0, 0, 0), "iopl": (172, 3), "settimeofday": (164, 0, 0), "landlock": (444, 0, 0, 1),
  "move_pages": (279, 0, 0, 0, 0, 0, 0), "mbind": (237, 0, 0, 0, 0, 0, 0), "setxattr": (188, b"/tmp", b"user.x", b"", 0, 0), "sync": (162,),
}
out = {}
for name, (nr, *args) in calls.items():
    ctypes.set_errno(0)
    r = libc.syscall(ctypes.c_long(nr), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    out[name] = ctypes.get_errno() if r == -1 else 0
print(json.dumps(out))
`), b)
	const eperm, enosys = 1, 38
	for name, errno := range got {
		want := eperm
		if name == "clone3" {
			want = enosys
		}
		// An engine may answer ENOSYS for calls that are newer than every one its profile names.
		if errno != want && errno != enosys {
			t.Errorf("%s: errno %d, want %d", name, errno, want)
		}
	}
}

// The 32-bit calls of a 64-bit kernel are another table, and would walk past a filter that names only one.
func TestOtherCallingConventionsAreClosed(t *testing.T) {
	if goarch() != "amd64" {
		cannotRun(t, "the machine code is that of x86-64")
	}
	b := newBackend(t)
	g := newGuest(t, sandbox.Python, `
import ctypes, mmap
m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
m.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, 20 (getpid); int 0x80; ret
f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))
print("before", flush=True)
print("answer", f())
`)
	exit := g.run(t, b)
	if exit.Code != 128+31 || g.out.String() != "before\n" { // SIGSYS
		t.Errorf("exit %+v, printed %q %s, want Code %v and g.out.String() %q", exit, &g.out, &g.err, 128+31, "before\n")
	}
}
