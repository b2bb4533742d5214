package gvisor_test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/gvisor"
)

func TestLimitsEndARunAndAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		limits sandbox.Limits
		killed string
		code   int
	}{
		"memory":           {"a=[]\nwhile True: a.append(bytearray(1<<20))", sandbox.Limits{Memory: 100_000_000}, "memory", 137},
		"memory in /tmp":   {"f=open('/tmp/x','wb')\nwhile True: f.write(bytes(1<<20))", sandbox.Limits{Memory: 60_000_000, Tmp: 1 << 30, FileSize: 1 << 30}, "memory", 137},
		"processor time":   {"while True: pass", sandbox.Limits{CPU: time.Second}, "cpu", 137},
		"of all processes": {"import os\nfor i in range(3): os.fork()\nwhile True: pass", sandbox.Limits{CPU: 2 * time.Second}, "cpu", 137},
		"output":           {"import sys\nwhile True: sys.stdout.write('x'*1000)", sandbox.Limits{Output: 100_000}, "output", 137},
		"workspace":        {"import time\nfor i in range(1000): open(f'f{i}','wb').write(bytes(1<<20))\ntime.sleep(30)", sandbox.Limits{Disk: 20 << 20}, "disk", 137},
		"file size": {"import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\nopen('big','wb').write(bytes(3<<20))",
			sandbox.Limits{FileSize: 1 << 20}, "file size", 128 + 25},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, b *gvisor.Backend) {
				s := spec(sandbox.Python, "print('began', flush=True)\n"+c.script)
				s.Workspace, s.Limits = workspace(t), c.limits
				exit, stdout, stderr := run(t, b, s)
				if exit.Killed != c.killed || exit.Code != c.code || !slices.Contains(exit.Hit, c.killed) {
					t.Errorf("%+v, want %d by %q\n%.300s", exit, c.code, c.killed, stderr)
				}
				if !strings.HasPrefix(stdout, "began\n") {
					t.Errorf("its output is lost: %.100q, want %q at its start", stdout, "began\n")
				}
				if c.killed == "output" && len(stdout) != 100_000 {
					t.Errorf("%d bytes of output", len(stdout))
				}
			})
		})
	}
}

// Node's own bound would be the machine's, and reaching it is not a named limit.
func TestHeapFollowsTheLimit(t *testing.T) {
	each(t, func(t *testing.T, b *gvisor.Backend) {
		s := spec(sandbox.Node, `import v8 from "node:v8"; console.log(Math.round(v8.getHeapStatistics().heap_size_limit / (1 << 20)))`)
		s.Limits.Memory = 8_000_000_000
		_, stdout, stderr := run(t, b, s)
		if n, err := strconv.Atoi(strings.TrimSpace(stdout)); err != nil || n < 5700 || n > 7600 {
			t.Errorf("the heap may get to %q MiB of 7629: %.300s, want at least 5700, at most 7600 and no error", stdout, stderr)
		}
		s = spec(sandbox.Node, `const keep = []; for (;;) keep.push({ a: keep.length, b: [keep.length] });`)
		s.Limits.Memory = 300_000_000
		exit, _, stderr := run(t, b, s)
		if exit.Killed != sandbox.LimitMemory || !slices.Equal(exit.Hit, []string{sandbox.LimitMemory}) {
			t.Errorf("%+v\n%.300s", exit, stderr)
		}
		other := s
		if other.Limits.Memory = 8_000_000_000; b.Shape(s) == b.Shape(other) {
			t.Error("a guest that waits would be given to a run with a far larger limit")
		}
	})
}

func TestLimitsAreNamedThatEndNothing(t *testing.T) {
	each(t, func(t *testing.T, b *gvisor.Backend) {
		s := spec(sandbox.Python, "try: open('big','wb').write(bytes(3<<20))\nexcept OSError as e: print(e.errno)")
		s.Workspace, s.Limits = workspace(t), sandbox.Limits{FileSize: 1 << 20}
		exit, stdout, stderr := run(t, b, s)
		if exit.Code != 0 || exit.Killed != "" || !slices.Equal(exit.Hit, []string{"file size"}) || stdout != "27\n" {
			t.Errorf("%+v %q\n%.300s", exit, stdout, stderr)
		}
	})
}

// The smallest limits must be enough to start, however many files the interpreter needs.
func TestTheLeastLimitsAreEnough(t *testing.T) {
	for _, rt := range []sandbox.Runtime{sandbox.Node, sandbox.Python} {
		t.Run(string(rt), func(t *testing.T) {
			each(t, func(t *testing.T, b *gvisor.Backend) {
				s := spec(rt, "print('began')")
				if rt == sandbox.Node {
					s = spec(rt, "console.log('began')")
				}
				s.Limits = sandbox.Limits{Processes: 16, Files: 64}
				if exit, stdout, stderr := run(t, b, s); exit.Code != 0 || stdout != "began\n" {
					t.Errorf("%+v %q, want Code 0 and %q\n%.300s", exit, stdout, "began\n", stderr)
				}
			})
		})
	}
}

// TestFilesOfAKilledGuestAreItsOwn: gVisor creates a file as root and then changes its owner. A file that a guest was creating when it was
// killed must not remain root's, or later runs could not write to it.
func TestFilesOfAKilledGuestAreItsOwn(t *testing.T) {
	owner := os.Getuid()
	if owner == 0 {
		owner = 65534
	}
	each(t, func(t *testing.T, b *gvisor.Backend) {
		for range 6 {
			s := spec(sandbox.Python, "i=0\nwhile True:\n  open(f'f{i}','w').write('x'); i+=1")
			s.Workspace, s.Limits = workspace(t), sandbox.Limits{DiskFiles: 50}
			if exit, _, stderr := run(t, b, s); exit.Killed != sandbox.LimitDisk {
				t.Fatalf("%+v, want Killed %v\n%.300s", exit, sandbox.LimitDisk, stderr)
			}
			entries, err := os.ReadDir(s.Workspace)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				info, err := e.Info()
				if err != nil {
					t.Fatal(err)
				}
				if uid := info.Sys().(*syscall.Stat_t).Uid; info.Mode().IsRegular() && int(uid) != owner {
					t.Errorf("%s belongs to user %d, and has mode %v", e.Name(), uid, info.Mode())
				}
			}
		}
	})
}

// workspace returns a folder that any user can reach.
func workspace(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gvws")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
