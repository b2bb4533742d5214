package sandboxtest

import (
	"io"
	"net"
	"os"
	"testing"
)

func isolationCases() []testCase {
	return []testCase{
		{name: "no environment of ours",
			setup: func(t *testing.T, w *world) {
				if os.Getenv(canaryVariable) != w.secret {
					t.Fatal("the canary is not in the test's own environment")
				}
			},
			code: both(`
const env = Object.keys(process.env);
for (const name of env) if (!["PATH", "HOME", "LANG", "TZ", "HOSTNAME", "TMPDIR", "PWD"].includes(name)) console.log("LEAK", name, process.env[name]);
try {
  const fs = await import("node:fs");
  for (const pid of ["self", ...fs.readdirSync("/proc").filter((n: string) => /^\d+$/.test(n))])
    try { const text = fs.readFileSync("/proc/" + pid + "/environ", "utf8"); if (/@VARIABLE@|MCPRUN_/.test(text)) console.log("LEAK", pid, text); } catch {}
} catch {}
console.log("checked");`, `
import os
for name in os.environ:
    if name not in ("PATH", "HOME", "LANG", "LC_CTYPE", "LC_ALL", "TZ", "HOSTNAME", "TMPDIR", "PWD") and not name.startswith("PYTHON"): print("LEAK", name, os.environ[name])
for pid in ["self"] + [n for n in os.listdir("/proc") if n.isdigit()]:
    try: text = open(f"/proc/{pid}/environ").read()
    except OSError: continue
    if "@VARIABLE@" in text or "MCPRUN_" in text: print("LEAK", pid, text)
print("checked")`), check: nothing},
		{name: "no network",
			setup: func(t *testing.T, w *world) {
				conn, err := net.Dial("tcp", "127.0.0.1:"+w.port)
				must(t, err)
				if got, _ := io.ReadAll(conn); string(got) != w.secret {
					t.Fatalf("the listener does not answer on the host: %q", got)
				}
				conn.Close()
				w.connections.Store(0)
			},
			code: both(`
const tries: Record<string, () => Promise<unknown>> = {
  fetch: async () => (await fetch("http://127.0.0.1:@PORT@/")).text(),
  tcp: async () => { const net = await import("node:net"); return await new Promise((yes, no) => net.connect(@PORT@, "127.0.0.1").on("data", yes).on("error", no)); },
  unix: async () => { const net = await import("node:net"); return await new Promise((yes, no) => net.connect("/workspace/host.sock").on("data", yes).on("error", no)); },
  dns: async () => (await import("node:dns/promises")).lookup("example.com"),
  udp: async () => { const d = await import("node:dgram"); return await new Promise((yes, no) => { const s = d.createSocket("udp4"); s.on("error", no); s.send("x", 53, "1.1.1.1", (e: any) => e ? no(e) : yes("sent")); }); },
};
for (const [name, f] of Object.entries(tries)) try { console.log("LEAK", name, String(await f())); } catch {}
console.log("checked");`, `
import socket, urllib.request
def tcp(): return socket.create_connection(("127.0.0.1", @PORT@), 2).recv(100)
def unix():
    s = socket.socket(socket.AF_UNIX); s.settimeout(2); s.connect("/workspace/host.sock"); return s.recv(100)
def http(): return urllib.request.urlopen("http://127.0.0.1:@PORT@/", timeout=2).read()
def dns(): return socket.getaddrinfo("example.com", 80)
def udp(): return socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("1.1.1.1", 53))
def raw(): return socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
for f in (tcp, unix, http, dns, udp, raw):
    try: print("LEAK", f.__name__, f())
    except OSError: pass
print("checked")`),
			check: func(t *testing.T, w *world, r *result) {
				nothing(t, w, r)
				if n := w.connections.Load(); n > 0 {
					t.Errorf("%d connections reached the host", n)
				}
			}},
		{name: "no privileges", code: both(`
try {
  const fs = await import("node:fs");
  const status = fs.readFileSync("/proc/self/status", "utf8");
  for (const line of status.split("\n")) if (/^Cap(Inh|Prm|Eff|Bnd|Amb):/.test(line) && !/\t0+$/.test(line)) console.log("LEAK", line);
  if (!/^NoNewPrivs:\t1$/m.test(status)) console.log("LEAK no_new_privs is off");
  if (!/^Seccomp:\t2$/m.test(status)) console.log("LEAK seccomp is off");
  if (!/^Uid:\t[1-9]/m.test(status)) console.log("LEAK uid 0");
} catch {}
console.log("checked");`, `
import os
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
    if int(status[name], 16): print("LEAK", name, status[name])
if status["NoNewPrivs"].strip() != "1": print("LEAK no_new_privs is off")
if status["Seccomp"].strip() != "2": print("LEAK seccomp is off")
if os.getuid() == 0: print("LEAK uid 0")
print("checked")`), check: nothing},
		{name: "no kernel surface", code: python(`
import ctypes, errno, os, platform
libc = ctypes.CDLL(None, use_errno=True)
amd = platform.machine() == "x86_64"
calls = {  # name: (amd64, arm64, arguments)
  "mount": (165, 40, b"x", b"/tmp", b"tmpfs", 0, 0), "umount2": (166, 39, b"/tmp", 0), "pivot_root": (155, 41, b"/", b"/"),
  "unshare user": (272, 97, 0x10000000), "setns": (308, 268, 0, 0), "clone newuser": (56, 220, 0x10000011, 0, 0, 0, 0),
  "ptrace": (101, 117, 0, 0, 0, 0), "process_vm_readv": (310, 270, 1, 0, 0, 0, 0, 0), "bpf": (321, 280, 0, 0, 0),
  "perf_event_open": (298, 241, 0, 0, 0, 0, 0), "io_uring_setup": (425, 425, 1, 0), "keyctl": (250, 219, 0, -3, 0),
  "add_key": (248, 217, b"user", b"a", b"b", 1, -3), "userfaultfd": (323, 282, 1), "kexec_load": (246, 104, 0, 0, 0, 0),
  "init_module": (175, 105, 0, 0, 0), "reboot": (169, 142, 0, 0, 0), "swapon": (167, 224, b"/x", 0),
  "open_by_handle_at": (304, 265, 0, 0, 0), "quotactl": (179, 60, 0, 0, 0, 0), "acct": (163, 89, b"/tmp/a"), "settimeofday": (164, 170, 0, 0),
}
for name, (a, b, *args) in calls.items():
    if libc.syscall(a if amd else b, *args) >= 0: print("LEAK", name)
    elif ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS): print("LEAK", name, os.strerror(ctypes.get_errno()))
print("checked")`), check: nothing},
		{name: "no set-user-ID files on the host", code: python(`
import ctypes, os, struct
open("f", "w").close()
def made(mode): os.close(os.open("g", os.O_CREAT | os.O_WRONLY, mode))
def unnamed(mode): os.close(os.open(".", os.O_TMPFILE | os.O_WRONLY, mode))
for mode in (0o4755, 0o2755):
    for name, f in {"chmod": lambda: os.chmod("f", mode), "open": lambda: made(mode), "unnamed": lambda: unnamed(mode)}.items():
        try: f(); print("LEAK", name, oct(mode))
        except OSError: pass
how = struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, 0o4755, 0)
if ctypes.CDLL(None).syscall(437, -100, b"h", how, len(how)) >= 0: print("LEAK openat2")
os.chmod("f", 0o1755); made(0o755)
print("checked")`), check: nothing},
		{name: "only its own processes are seen", code: python(`
import os
for pid in [n for n in os.listdir("/proc") if n.isdigit()]:
    try: line = open(f"/proc/{pid}/cmdline").read()
    except OSError: continue
    if "sandboxtest" in line or "dockerd" in line: print("LEAK", pid, line)
print("checked")`), check: nothing},
		{name: "only its own descriptors", code: python(`
import os
for n in sorted(map(int, os.listdir("/proc/self/fd"))):
    try: target = os.readlink(f"/proc/self/fd/{n}")
    except OSError: continue
    if n > 2 and not target.startswith(("socket:", "/proc/", "anon_inode:", "pipe:", "/mcp/guest")): print("LEAK", n, target)
    if n <= 2 and not target.startswith(("pipe:", "socket:", "/dev/null")): print("LEAK", n, target)
try: open("/dev/tty"); print("LEAK tty")
except OSError: pass
print("checked")`), check: nothing},
	}
}
