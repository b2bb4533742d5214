//go:build linux && (amd64 || arm64)

package jail_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
)

// inWorkspace returns a jail whose shell runs script in a folder of the host.
func inWorkspace(t testing.TB, script string, l sandbox.Limits) (jail.Config, string) {
	ws := openDir(t)
	cfg := shell(script)
	cfg.Mounts = append(cfg.Mounts, jail.Mount{Source: ws, Target: "/ws", Writable: true})
	cfg.Dir, cfg.Limits = "/ws", l
	return cfg, ws
}

const threadsWithFiles = `
import ctypes, os, threading, time
libc = ctypes.CDLL(None)
def fill():
    time.sleep(0.2)
    held = []
    for _ in range(60):
        f = open("f", "wb"); os.unlink("f"); held.append(f)
        f.write(b"x" * (1 << 20)); f.flush()
    time.sleep(40)
    libc._exit(0)
threading.Thread(target=fill).start()
libc.pthread_exit(None)
`

func TestLimitsAreNamed(t *testing.T) {
	python := "/usr/bin/python3"
	if _, err := os.Stat(python); err != nil {
		t.Fatalf("the test needs Python: %v", err)
	}
	for name, c := range map[string]struct {
		script string
		limits sandbox.Limits
		killed string
		hit    string
	}{
		"output":                      {"while :; do echo 0123456789; done", sandbox.Limits{Output: 100_000}, sandbox.LimitOutput, "output"},
		"both streams":                {"while :; do echo 0123456789; echo 0123456789 >&2; done", sandbox.Limits{Output: 100_000}, sandbox.LimitOutput, "output"},
		"disk":                        {"while :; do head -c 1000000 /dev/zero >>a; done", sandbox.Limits{Disk: 10 << 20, FileSize: 1 << 30}, sandbox.LimitDisk, "disk"},
		"disk in files":               {"i=0; while :; do : >$i; i=$((i+1)); done", sandbox.Limits{DiskFiles: 100}, sandbox.LimitDisk, "disk"},
		"disk, removed before a scan": {"head -c 20000000 /dev/zero >a; rm a; sleep 0.2; echo done", sandbox.Limits{Disk: 100 << 20}, "", ""},
		"file size":                   {"exec head -c 20000000 /dev/zero >a", sandbox.Limits{FileSize: 1 << 20}, sandbox.LimitFileSize, "file size"},
		"file size of a child":        {"head -c 20000000 /dev/zero >a; true", sandbox.Limits{FileSize: 1 << 20}, "", "file size"},
		"processor time":              {"while :; do :; done", sandbox.Limits{CPU: time.Second}, sandbox.LimitCPU, "cpu"},
		"processor time of all":       {"for i in 1 2 3 4; do (while :; do :; done)& done; wait", sandbox.Limits{CPU: time.Second}, sandbox.LimitCPU, "cpu"},
		"processor time of processes that come and go": {
			`while :; do ( (i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done) & ) ; done`, sandbox.Limits{CPU: time.Second}, sandbox.LimitCPU, "cpu"},
		"memory":  {"x=a; while :; do x=$x$x; done", sandbox.Limits{Memory: 64 << 20}, sandbox.LimitMemory, "memory"},
		"nothing": {"echo fine", sandbox.Limits{}, "", ""},
		"nameless files": {python + ` -c '
import os
held = []
while True:
    f = open("f", "wb"); os.unlink("f"); held.append(f)
    f.write(b"x" * (1 << 20)); f.flush()
'`, sandbox.Limits{Disk: 10 << 20, Files: 500}, sandbox.LimitDisk, "disk"},
		"nameless files of a process whose first thread has ended": {python + " -c '" + threadsWithFiles + "'", sandbox.Limits{Disk: 10 << 20}, sandbox.LimitDisk, "disk"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, ws := inWorkspace(t, c.script, c.limits)
			got := run(t, cfg)
			hit := strings.Join(got.Hit, ",")
			if got.Killed != c.killed || hit != c.hit {
				t.Errorf("killed %q, hit %q, code %d; want %q, %q\n%s", got.Killed, hit, got.Code, c.killed, c.hit, got.stderr)
			}
			late := 0 // the other stream's pipe may have held this much
			if len(got.stdout) > 0 && len(got.stderr) > 0 {
				late = 64 << 10
			}
			if n := len(got.stdout) + len(got.stderr); c.killed == sandbox.LimitOutput && (n < 100_000 || n > 100_000+late) {
				t.Errorf("%d bytes of output arrived", n)
			}
			if c.killed == sandbox.LimitDisk {
				t.Logf("%d bytes are on disk, %d were allowed", onDisk(t, ws), c.limits.Disk)
			}
		})
	}
}

func onDisk(t *testing.T, dir string) (sum int64) {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if st, err := os.Stat(f); err == nil {
			sum += st.Size()
		}
	}
	return sum
}

// TestRefusedProcessesAreNoticed keeps processes refused long enough for a watchdog to notice; a control group counts them.
func TestRefusedProcessesAreNoticed(t *testing.T) {
	pause := "0"
	if os.Geteuid() != 0 { // then there is no group
		pause = "4"
	}
	cfg := shell(`(i=0; while [ $i -lt 100 ]; do sleep 60 & i=$((i+1)); done; echo not reached); sleep ` + pause + `; echo end`)
	cfg.Limits.Processes = 20
	got := run(t, cfg)
	if got.stdout != "end\n" || !slices.Contains(got.Hit, sandbox.LimitProcesses) {
		t.Errorf("%+v, want stdout %q and %v in it", got, "end\n", sandbox.LimitProcesses)
	}
	withoutRoot(t)
}

// withoutRoot runs the calling test again as an ordinary user if root runs it, so that the jail has no cgroup.
func withoutRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: jail.UID, Gid: jail.UID}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("without root: %v\n%s", err, out)
	}
}

// hiddenMemory are programs that hold memory that is not in the figures of processes.
var hiddenMemory = map[string]string{
	"page tables": `
import mmap
held = []
while True:
    m = mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)
    held.append(m)
    for at in range(0, 1 << 30, 1 << 21): m[at]
`,
	"threads whose first has ended": `
import ctypes, threading, time
libc = ctypes.CDLL(None)
def fill():
    time.sleep(0.2)
    held = []
    for _ in range(50):
        held.append(b"x" * (10 << 20))
        time.sleep(0.01)
    time.sleep(40)
    libc._exit(0)
threading.Thread(target=fill).start()
libc.pthread_exit(None)
`,
	"files in memory": `
import time
for i in range(40):
    with open(f"/tmp/{i}", "wb") as f: f.write(bytes(10 << 20))
time.sleep(60)
`,
}

// TestMemoryThatIsInNoProcess checks memory that is not in the figures of processes. It matters on machines without a cgroup, where a
// watchdog adds up these figures.
func TestMemoryThatIsInNoProcess(t *testing.T) {
	for name, code := range hiddenMemory {
		cfg := shell("")
		cfg.Program, cfg.Args = "/usr/bin/python3", []string{"-c", code}
		cfg.Limits.Memory, cfg.Limits.Tmp = 200<<20, 1<<30
		if got := run(t, cfg); got.Killed != sandbox.LimitMemory {
			t.Errorf("%s: %+v %.300s: got %v, want %v", name, got.Exit, got.stderr, got.Killed, sandbox.LimitMemory)
		}
	}
	withoutRoot(t)
}

// TestSharedMemory checks that shared memory that is in no process's figures is refused if nothing else counts it.
func TestSharedMemory(t *testing.T) {
	for name, code := range map[string]string{
		"nameless": `mmap.mmap(-1, 10 << 20)`,
		"zero":     `mmap.mmap(os.open("/dev/zero", os.O_RDWR), 10 << 20)`,
	} {
		cfg := shell("")
		cfg.Program, cfg.Args = "/usr/bin/python3", []string{"-c", `
import mmap, os, time
held = []
try:
    for _ in range(60):
        m = ` + code + `
        m.write(bytes(10 << 20))
        m.madvise(mmap.MADV_DONTNEED)
        held.append(m)
except OSError as e:
    print(e.strerror)
else:
    time.sleep(60)
`}
		cfg.Limits.Memory = 200 << 20
		got := run(t, cfg)
		refused := got.stdout == "Operation not permitted\n" || got.stdout == "No such file or directory\n"
		if got.Killed != sandbox.LimitMemory && !refused {
			t.Errorf("%s: %+v %q %.300s", name, got.Exit, got.stdout, got.stderr)
		}
	}
	withoutRoot(t)
}

// TestMappedFileInMemory checks that a mapped file in memory counts once.
func TestMappedFileInMemory(t *testing.T) {
	cfg := shell("")
	cfg.Program, cfg.Args = "/usr/bin/python3", []string{"-c", `
import mmap, os, time
with open("/tmp/f", "wb+") as f:
    f.truncate(120 << 20)
    m = mmap.mmap(f.fileno(), 0)
for at in range(0, 120 << 20, 1 << 20): m[at:at + (1 << 20)] = bytes(1 << 20)
if os.fork() == 0:
    sum(m[at] for at in range(0, 120 << 20, 4096))
    time.sleep(0.3)
    os._exit(0)
os.wait()
print("fine")
`}
	cfg.Limits.Memory, cfg.Limits.Tmp = 200<<20, 1<<30
	if got := run(t, cfg); got.stdout != "fine\n" {
		t.Errorf("%+v %.300s: got %v, want %q", got.Exit, got.stderr, got.stdout, "fine\n")
	}
	withoutRoot(t)
}

// TestQueuedSignalsAreFew checks the bound on queued signals, whose quota all runs of a user share.
func TestQueuedSignalsAreFew(t *testing.T) {
	cfg, _ := inWorkspace(t, "grep 'Max pending signals' /proc/self/limits", sandbox.Limits{})
	got := run(t, cfg)
	if f := strings.Fields(got.stdout); len(f) < 5 || f[3] != "1024" || f[4] != "1024" {
		t.Errorf("%q, want len(f) at least 5, f[3] \"1024\" and f[4] \"1024\"\n%s", got.stdout, got.stderr)
	}
}
