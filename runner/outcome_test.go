package runner_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// TestLimitsAreNamed: whatever limit a sandbox names, the result has it, with how much was allowed and how to allow more.
func TestLimitsAreNamed(t *testing.T) {
	tight := sandbox.Limits{
		Memory: 64_000_000, CPU: 3 * time.Second, Processes: 7, Files: 30, FileSize: 3 << 20, Output: 5 << 10, Disk: 2_000_000_000, DiskFiles: 9,
	}
	for _, c := range []struct {
		limit  string
		limits sandbox.Limits
		words  string
	}{
		{sandbox.LimitMemory, tight, "more than 64 MB of memory (--memory)"},
		{sandbox.LimitCPU, tight, "more than 3s of processor time (--cpu)"},
		{sandbox.LimitCPU, sandbox.Limits{}, "more than 2m of processor time, 4 times the --timeout (--cpu)"},
		{sandbox.LimitProcesses, tight, "more than 7 processes and threads (--processes)"},
		{sandbox.LimitOutput, tight, "more than 5 KiB (--output-limit)"},
		{sandbox.LimitDisk, tight, "more than 2 GB or 9 files (--disk, --disk-files)"},
		{sandbox.LimitFiles, tight, "more than 30 open files (--open-files)"},
		{sandbox.LimitFileSize, tight, "a file of more than 3 MiB (--file-size)"},
		{sandbox.LimitFileSize, sandbox.Limits{Disk: 2 << 20}, "a file of more than 2 MiB, the limit of its workspace (--disk)"},
		{"something new", tight, "the limit of something new"},
	} {
		for _, killed := range []bool{true, false} {
			exit := sandbox.Exit{Code: 1, Hit: []string{c.limit}}
			if killed {
				exit = sandbox.Exit{Code: 137, Killed: c.limit}
			}
			res, err := run(t, nil, runner.Script{Limits: c.limits, Capture: true}, func(g *guest) sandbox.Exit {
				g.begin()
				g.spec.Stdout.Write([]byte("so far"))
				if !killed {
					g.done(nil)
				}
				return exit
			})
			if err != nil {
				t.Fatal(err)
			}
			want, code, begins := runner.CauseExit, 1, "the script ran into a limit: "
			if killed {
				want, code, begins = runner.Cause(c.limit), 137, "the script was killed: "
			}
			if res.Cause != want || res.ExitCode != code || !strings.HasPrefix(res.Message, begins) || !strings.Contains(res.Message, c.words) {
				t.Errorf("%s, killed %t: cause %q, code %d, message %q, want %q, %d, %q at its start and %q in it", c.limit, killed, res.Cause, res.ExitCode, res.Message, want, code, begins, c.words)
			}
			if !slices.Equal(res.LimitsHit, []string{c.limit}) || res.Stdout != "so far" {
				t.Errorf("%s, killed %t: limits %q, output %q", c.limit, killed, res.LimitsHit, res.Stdout)
			}
		}
	}
}

func TestSeveralLimits(t *testing.T) {
	res, err := run(t, nil, runner.Script{Timeout: 50 * time.Millisecond}, func(g *guest) sandbox.Exit {
		g.begin()
		exit := g.killed()
		exit.Hit = []string{sandbox.LimitProcesses, sandbox.LimitFiles}
		return exit
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"files", "processes", "timeout"}; !slices.Equal(res.LimitsHit, want) || res.Cause != runner.CauseTimeout {
		t.Errorf("limits %q, want %q; cause %q", res.LimitsHit, want, res.Cause)
	}
	res, err = run(t, nil, runner.Script{}, func(g *guest) sandbox.Exit {
		g.begin()
		return sandbox.Exit{Code: 137, Killed: sandbox.LimitDisk, Hit: []string{sandbox.LimitDisk, sandbox.LimitProcesses}}
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"disk", "processes"}; !slices.Equal(res.LimitsHit, want) {
		t.Errorf("limits %q, want %q", res.LimitsHit, want)
	}
}

// TestNoLimit: the list is there, and empty.
func TestNoLimit(t *testing.T) {
	res, err := run(t, nil, runner.Script{}, func(g *guest) sandbox.Exit { g.begin(); g.done(nil); return sandbox.Exit{} })
	if err != nil || res.LimitsHit == nil || len(res.LimitsHit) != 0 || res.Message != "" {
		t.Errorf("%v, %+v", err, res)
	}
}

// TestTooLittleToStart: a guest that a limit kills before its job is a run that could not be made, for that limit.
func TestTooLittleToStart(t *testing.T) {
	_, err := run(t, nil, runner.Script{Limits: sandbox.Limits{Memory: 1_000_000}}, func(*guest) sandbox.Exit {
		return sandbox.Exit{Code: 137, Killed: sandbox.LimitMemory}
	})
	if b, ok := errors.AsType[*runner.BackendError](err); !ok || !strings.Contains(b.Message, "more than 1 MB of memory (--memory)") {
		t.Errorf("error %v", err)
	}
}

// TestLimitsReachTheSandbox: none that goes there is zero.
func TestLimitsReachTheSandbox(t *testing.T) {
	var got sandbox.Limits
	_, err := run(t, nil, runner.Script{Limits: sandbox.Limits{Processes: 3}, Timeout: 2 * time.Second}, func(g *guest) sandbox.Exit {
		got = g.spec.Limits
		g.begin()
		g.done(nil)
		return sandbox.Exit{}
	})
	want := sandbox.Limits{Processes: 3, CPU: 8 * time.Second}.WithDefaults()
	if err != nil || got != want {
		t.Errorf("%v; limits %+v, want %+v", err, got, want)
	}
}

// What only the guest's own kernel or interpreter refuses is named where the script fails of it, and only there.
func TestLimitsInErrorsAreNamed(t *testing.T) {
	for _, c := range []struct{ name, message, stack, want string }{
		{"Error", "EMFILE: too many open files, open 'x'", "", sandbox.LimitFiles},
		{"OSError", "[Errno 24] Too many open files: 'x'", "", sandbox.LimitFiles},
		{"MemoryError", "", "", sandbox.LimitMemory},
		{"RangeError", "Array buffer allocation failed", "", sandbox.LimitMemory},
		{"RuntimeError", "can't start new thread", "", sandbox.LimitProcesses},
		{"Error", "spawn ls EAGAIN", "", sandbox.LimitProcesses},
		{"BlockingIOError", "[Errno 11] Resource temporarily unavailable", "    if os.fork() == 0:", sandbox.LimitProcesses},
		{"Error", "spawnSync /bin/sh EAGAIN", "", sandbox.LimitProcesses},
		{"Error", "Worker initialization failure: EAGAIN", "", sandbox.LimitProcesses},
		{"Error", "read EAGAIN", "", ""},
		{"BlockingIOError", "[Errno 11] Resource temporarily unavailable", `  File "/workspace/s.py", line 1, in <module>
    os.posix_spawn("/bin/true", [], {})`, sandbox.LimitProcesses},
		{"BlockingIOError", "[Errno 11] Resource temporarily unavailable", "    self.pid = _fork_exec(", sandbox.LimitProcesses},
		{"BlockingIOError", "[Errno 11] Resource temporarily unavailable", "    os.read(pipe, 1)", ""},
		{"BlockingIOError", "[Errno 11] Resource temporarily unavailable", `  File "/workspace/fork/ImageProcessor.py", line 1, in <module>
    os.read(pipe, 1)`, ""},
		{"MCPToolError", "EMFILE: too many open files, open 'x'", "", ""},
		{"OSError", "[Errno 2] No such file or directory: '[Errno 24] x'", "", ""},
	} {
		res, err := run(t, nil, runner.Script{}, func(g *guest) sandbox.Exit {
			g.begin()
			g.done(object{"error": object{"name": c.name, "message": c.message, "stack": c.stack}})
			return sandbox.Exit{Code: 1}
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{}
		if c.want != "" {
			want = append(want, c.want)
		}
		if !slices.Equal(res.LimitsHit, want) || (c.want == "") != (res.Message == "") || res.Cause != runner.CauseError {
			t.Errorf("%s: %s: limits %q, message %q, cause %s", c.name, c.message, res.LimitsHit, res.Message, res.Cause)
		}
	}
}
