package docker_test

import (
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
				t.Errorf("exit %+v %s", exit, &g.err)
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
		t.Errorf("exit %+v %s", exit, &g.err)
	}
}

func TestMemoryKillOfAChild(t *testing.T) {
	b := newBackend(t)
	g := newGuest(t, sandbox.Python, `
import subprocess, sys
r = subprocess.run([sys.executable, "-c", "b = []\nwhile True: b.append(bytearray(1 << 20))"])
sys.exit(3 if r.returncode == -9 else 4)
`)
	g.Limits.Memory = 100 << 20
	if exit := g.run(t, b); exit.Code != 3 || exit.Killed != "memory" {
		t.Errorf("exit %+v %s", exit, &g.err)
	}
}

// A guest that kills itself ran into no limit, and one that prints V8's words did neither.
func TestKillOfItself(t *testing.T) {
	b := newBackend(t)
	g := newGuest(t, sandbox.Python, `import os; os.kill(os.getpid(), 9)`)
	g.Limits.CPU = 10 * time.Minute // and too soon for this one
	if exit := g.run(t, b); exit.Code != 137 || exit.Killed != "" {
		t.Errorf("exit %+v", exit)
	}
	g = newGuest(t, sandbox.Node, `console.error("JavaScript heap out of memory"); process.exitCode = 1;`)
	if exit := g.run(t, b); exit.Code != 1 || exit.Killed != "" {
		t.Errorf("exit %+v", exit)
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
os._exit(0)
`)
	g.Limits.Processes = 20
	if got := g.ok(t, b); got != "18 11\n" { // init and the guest; EAGAIN
		t.Errorf("printed %q", got)
	}
}

func TestProcessorTime(t *testing.T) {
	b := newBackend(t)
	for rt, code := range map[sandbox.Runtime]string{sandbox.Python: "while True: pass", sandbox.Node: "for (;;);"} {
		g := newGuest(t, rt, code)
		g.Limits.CPU = time.Second
		if exit := g.run(t, b); exit.Killed != "cpu" {
			t.Errorf("%s: exit %+v %s", rt, exit, &g.err)
		}
	}
}

// The signal of the soft limit can be ignored; the hard one is a kill like any other.
func TestProcessorTimeIgnored(t *testing.T) {
	b := newBackend(t)
	g := newGuest(t, sandbox.Python, "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass")
	g.Limits.CPU = time.Second
	if exit := g.run(t, b); exit.Code != 137 || exit.Killed != "cpu" {
		t.Errorf("exit %+v %s", exit, &g.err)
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
		t.Errorf("printed %v", got)
	}
}
