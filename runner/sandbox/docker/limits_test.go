package docker_test

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

func goarch() string { return runtime.GOARCH }

func TestMemoryKill(t *testing.T) {
	b := newBackend(t)
	for name, c := range map[string]struct {
		rt   sandbox.Runtime
		code string
	}{
		"python":       {sandbox.Python, `b = []` + "\n" + `while True: b.append(bytearray(1 << 20))`},
		"node buffers": {sandbox.Node, `const b = []; for (;;) b.push(Buffer.alloc(1 << 20, 1));`},
		"tmp":          {sandbox.Python, "import os\nf = open('/tmp/f', 'wb')\nfor _ in range(60): f.write(b'x' * (1 << 20))\nb = bytearray(60 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuest(t, c.rt, c.code)
			g.Limits.Memory = 100 << 20
			if exit := g.run(t, b); exit.Code != 137 || exit.Killed != "memory" {
				t.Errorf(`exit %+v %s, want Code 137 and Killed "memory"`, exit, &g.err)
			}
		})
	}
}

// V8 has a limit of its own below the container's, and ends node by a fault when it is reached.
func TestMemoryOfTheJavaScriptHeap(t *testing.T) {
	b := newBackend(t)
	g := newGuest(t, sandbox.Node, `const a = []; for (;;) a.push({ x: [a.length] });`)
	g.Limits.Memory = 100 << 20
	if exit := g.run(t, b); exit.Killed != "memory" {
		t.Errorf(`exit %+v %s, want Killed "memory"`, exit, &g.err)
	}
}

func TestMemoryKillOfAChild(t *testing.T) {
	b := newBackend(t)
	g := newGuest(t, sandbox.Python, `
import subprocess, sys, time
r = subprocess.run([sys.executable, "-c", "b = []\nwhile True: b.append(bytearray(1 << 20))"])
time.sleep(3) # the counters go with the container's group, so let them be read before
sys.exit(3 if r.returncode == -9 else 4)
`)
	g.Limits.Memory = 100 << 20
	if exit := g.run(t, b); exit.Code != 3 || exit.Killed != "memory" {
		t.Errorf(`exit %+v %s, want Code 3 and Killed "memory"`, exit, &g.err)
	}
}

// A guest that kills itself ran into no limit, and one that prints V8's words did neither.
func TestKillOfItself(t *testing.T) {
	b := newBackend(t)
	g := newGuest(t, sandbox.Python, `import os; os.kill(os.getpid(), 9)`)
	g.Limits.CPU = 10 * time.Minute // and too soon for this one
	if exit := g.run(t, b); exit.Code != 137 || exit.Killed != "" {
		t.Errorf(`exit %+v, want Code 137 and Killed ""`, exit)
	}
	g = newGuest(t, sandbox.Node, `console.error("JavaScript heap out of memory"); process.exitCode = 1;`)
	if exit := g.run(t, b); exit.Code != 1 || exit.Killed != "" {
		t.Errorf(`exit %+v, want Code 1 and Killed ""`, exit)
	}
}

func TestForkBomb(t *testing.T) {
	b := newBackend(t)
	g := newGuest(t, sandbox.Python, `
import os, time
n = 0
try:
    while True:
        if os.fork() == 0: time.sleep(60)
        n += 1
except OSError as e:
    print(n, e.errno, flush=True)
time.sleep(3) # the counters go with the container's group, so let them be read before
os._exit(0)
`)
	g.Limits.Processes = 20
	exit := g.run(t, b)
	if got := g.out.String(); got != "18 11\n" { // init and the guest; EAGAIN
		t.Errorf("printed %q, want %q", got, "18 11\n")
	}
	if exit.Code != 0 || exit.Killed != "" || strings.Join(exit.Hit, " ") != "processes" {
		t.Errorf(`exit %+v, want Code 0, Killed "" and "processes"`, exit)
	}
}

// The limit is one for all processes together, and another than that of the wall clock.
func TestProcessorTimeOfAllProcesses(t *testing.T) {
	b := newBackend(t)
	g := newGuest(t, sandbox.Python, `
import os, time
for _ in range(4):
    if os.fork() == 0:
        while True: pass
time.sleep(60)
`)
	g.Limits.CPU = time.Second
	exit := g.run(t, b)
	if exit.Code != 137 || exit.Killed != "cpu" || strings.Join(exit.Hit, " ") != "cpu" {
		t.Errorf(`exit %+v, want Code 137, Killed "cpu" and "cpu"`, exit)
	}
	if exit.MaxMemory < 1<<20 {
		t.Errorf("the most memory: %d, want at least %d", exit.MaxMemory, 1<<20)
	}
}

func TestOutputLimit(t *testing.T) {
	b := newBackend(t)
	for name, code := range map[string]string{
		"flood":   "import os\nwhile True: os.write(1, b'x' * 1000); os.write(2, b'y' * 1000)",
		"at once": "import os\nos.write(1, b'x' * 15000)",
	} {
		g := newGuest(t, sandbox.Python, code)
		g.Limits.Output = 10_000
		if exit := g.run(t, b); exit.Killed != "output" || strings.Join(exit.Hit, " ") != "output" {
			t.Errorf(`%s: exit %+v, want Killed "output" and "output"`, name, exit)
		}
		// Of the stream that did not pass the limit some more may come.
		if n := g.out.Len() + g.err.Len(); n < 10_000 || n > 20_000 || name == "at once" && n != 10_000 {
			t.Errorf("%s: %d bytes came", name, n)
		}
	}
	g := newGuest(t, sandbox.Python, "print('x' * 9999)")
	g.Limits.Output = 10_000
	if exit := g.run(t, b); exit.Code != 0 || exit.Killed != "" || len(exit.Hit) != 0 || g.out.Len() != 10_000 {
		t.Errorf(`just enough: exit %+v, %d bytes, want Code 0, Killed "", len(exit.Hit) 0 and 10_000`, exit, g.out.Len())
	}
}

func TestDiskLimit(t *testing.T) {
	b := newBackend(t)
	for name, code := range map[string]string{
		"bytes": "import os\nfor i in range(10**6): open(f'f{i}', 'wb').write(os.urandom(1 << 20))",
		"files": "for i in range(10**6): open(f'f{i}', 'w').close()",
	} {
		g := newGuest(t, sandbox.Python, "print('began', flush=True)\n"+code)
		g.Workspace = openDir(t)
		g.Limits.Disk, g.Limits.DiskFiles = 20<<20, 200
		exit := g.run(t, b)
		if exit.Code != 137 || exit.Killed != "disk" || strings.Join(exit.Hit, " ") != "disk" || g.out.String() != "began\n" {
			t.Errorf(`%s: exit %+v, printed %q, want Code 137, Killed "disk", "disk" and g.out.String() %q`, name, exit, &g.out, "began\n")
		}
	}
}

// What was written to a file without a name takes space as well, though no folder shows it.
func TestDiskLimitOfNamelessFiles(t *testing.T) {
	if os.Geteuid() != 0 {
		cannotRun(t, "only root sees what other users' processes hold open")
	}
	b := newBackend(t)
	g := newGuest(t, sandbox.Python, `
import os
held = []
for i in range(400):
    held.append(open("f", "wb")); os.unlink("f")
    held[-1].write(bytes(1 << 20)); held[-1].flush()
import time; time.sleep(60)
`)
	g.Workspace = openDir(t)
	g.Limits.Disk = 20 << 20
	if exit := g.run(t, b); exit.Code != 137 || exit.Killed != "disk" {
		t.Errorf(`exit %+v %s, want Code 137 and Killed "disk"`, exit, &g.err)
	}
}

// Python ignores the signal of the limit and gets an error; node is ended by it or gets the error as well.
func TestFileSizeIsNamed(t *testing.T) {
	b := newBackend(t)
	g := newGuest(t, sandbox.Python, `
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
open("/workspace/f", "wb").write(bytes(3 << 20))
`)
	g.Workspace = openDir(t)
	g.Limits.FileSize = 1 << 20
	if exit := g.run(t, b); exit.Killed != "file size" || strings.Join(exit.Hit, " ") != "file size" {
		t.Errorf(`exit %+v %s, want Killed "file size" and "file size"`, exit, &g.err)
	}
}

func TestProcessorTime(t *testing.T) {
	b := newBackend(t)
	for rt, code := range map[sandbox.Runtime]string{sandbox.Python: "while True: pass", sandbox.Node: "for (;;);"} {
		g := newGuest(t, rt, code)
		g.Limits.CPU = time.Second
		if exit := g.run(t, b); exit.Killed != "cpu" {
			t.Errorf(`%s: exit %+v %s, want Killed "cpu"`, rt, exit, &g.err)
		}
	}
}

// The signal of the soft limit can be ignored; the hard one is a kill like any other.
func TestProcessorTimeIgnored(t *testing.T) {
	b := newBackend(t)
	g := newGuest(t, sandbox.Python, "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass")
	g.Limits.CPU = time.Second
	if exit := g.run(t, b); exit.Code != 137 || exit.Killed != "cpu" {
		t.Errorf(`exit %+v %s, want Code 137 and Killed "cpu"`, exit, &g.err)
	}
}

func TestFileLimits(t *testing.T) {
	b := newBackend(t)
	g := newGuest(t, sandbox.Python, `
import os
def attempt(f):
    try:
        f(); print("ok")
    except OSError as e:
        print(e.errno)
def big(path, n):
    with open(path, "wb") as f:
        for _ in range(n): f.write(b"x" * (1 << 20))
attempt(lambda: big("/workspace/f", 3))
attempt(lambda: big("/tmp/f", 1)); attempt(lambda: [big("/tmp/f%d" % i, 1) for i in range(10)])
attempt(lambda: [os.open("/dev/null", 0) for _ in range(100)])
`)
	g.Workspace = openDir(t)
	g.Limits.FileSize, g.Limits.Tmp, g.Limits.Files = 2<<20, 4<<20, 50
	if got := strings.Fields(g.ok(t, b)); strings.Join(got, " ") != "27 ok 28 24" { // EFBIG, ENOSPC, EMFILE
		t.Errorf(`printed %v, want "27 ok 28 24"`, got)
	}
}
