//go:build linux

package upstream

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

// running reports whether a process exists and is no zombie.
func running(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func wantGone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		// SIGKILL is delivered, but the kernel may need a moment to take the process down.
		for end := time.Now().Add(testTime); running(pid) && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		if running(pid) {
			t.Errorf("process %d is still there", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// inShell wraps a server into sh -c, in a way that keeps the shell as its parent. Both have its folder as an argument.
func inShell(srv config.Server) config.Server {
	srv.Args = []string{"-c", `"$0" "$1"; true`, srv.Command, srv.Dir}
	srv.Command = "sh"
	return srv
}

func TestCloseLeavesNothing(t *testing.T) {
	for _, mode := range []upstreamtest.Mode{upstreamtest.Normal, upstreamtest.Grandchild, upstreamtest.Stubborn} {
		for _, shell := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/shell=%t", mode, shell), func(t *testing.T) {
				t.Parallel()
				srv := upstreamtest.Server(t, mode)
				if shell {
					srv = inShell(srv)
				}
				closing := func() time.Duration {
					s := open(t, srv, testOptions())
					pids := field[[]int](t, mustCall(t, s, upstreamtest.ToolPIDs, ""), "pids")
					pids = append(pids, s.process.PID())
					for _, pid := range pids {
						if !running(pid) {
							t.Fatalf("process %d is not there to begin with", pid)
						}
					}
					start := time.Now()
					s.Close()
					wantGone(t, pids)
					return time.Since(start)
				}
				took := closing()
				if took > 20*time.Second { // three are enough for a server that has to be killed
					t.Errorf("closing took %s, want at most %s", took, 20*time.Second)
				}
				// Nothing waits for a server that ends by itself. On a busy machine it may need a while for that.
				for tries := 1; mode == upstreamtest.Normal && took > 500*time.Millisecond; tries++ {
					if tries == 20 {
						t.Fatalf("closing a server that ends by itself took %s", took)
					}
					took = closing()
				}
			})
		}
	}
}

func TestLossLeavesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, upstreamtest.Server(t, upstreamtest.Grandchild), testOptions())
	pids := field[[]int](t, mustCall(t, s, upstreamtest.ToolPIDs, ""), "pids")
	// The grandchild holds standard output, so that its end does not show; the server's own does.
	if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_, err := s.Call(testContext(t), upstreamtest.ToolEcho, nil, nil)
	wantConnectionError(t, err, "signal: killed")
	wantGone(t, pids)
}

func TestFailedProbeLeavesNothing(t *testing.T) {
	t.Parallel()
	opts := testOptions()
	opts.ProbeTimeout, opts.ConnectTimeout = 500*time.Millisecond, 4*time.Second
	starts := countStarts(opts)
	srv := upstreamtest.Server(t, upstreamtest.HangAlways)
	_, err := Connect(testContext(t), inShell(srv), opts)
	wantConnectionError(t, err, "did not get ready")
	if n := starts(); n != 1 {
		t.Errorf("%d starts, want 1", n)
	}
	left, err := exec.Command("pgrep", "-f", srv.Dir).Output()
	if exit, ended := errors.AsType[*exec.ExitError](err); err != nil && (!ended || exit.ExitCode() != 1) {
		t.Fatal(err)
	}
	for _, text := range strings.Fields(string(left)) {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		wantGone(t, []int{pid})
	}
}

// TestSlowStartEndsGently ends an installer that takes too long with SIGTERM, so that it removes its locks, and quotes it.
func TestSlowStartEndsGently(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const installer = `trap 'echo removed >lock; exit 1' TERM
echo "resolving packages" >&2; echo "token s3cret-value" >&2; echo held >lock
while :; do sleep 0.05; done`
	srv := config.Server{Key: "slow", Transport: config.TransportStdio, Command: "sh", Args: []string{"-c", installer}, Dir: dir, Env: map[string]string{"TOKEN": "${KEY}"}}
	opts := testOptions()
	opts.ProbeTimeout, opts.ConnectTimeout = 100*time.Millisecond, 3*time.Second
	opts.Lookup = func(name string) (string, bool) {
		if name == "KEY" {
			return "s3cret-value", true
		}
		return os.LookupEnv(name)
	}
	_, err := Connect(testContext(t), srv, opts)
	wantConnectionError(t, err, "the last lines of its standard error: resolving packages | token ")
	if strings.Contains(err.Error(), "s3cret-value") {
		t.Errorf(`the error %q has a secret, want no "s3cret-value" in it`, err)
	}
	if lock, err := os.ReadFile(filepath.Join(dir, "lock")); string(lock) != "removed\n" {
		t.Errorf("lock %q, %v, want the one that SIGTERM leaves", lock, err)
	}
}

// TestDeathOfTheParent kills a process that holds a session, as kill -9 of a command would.
func TestDeathOfTheParent(t *testing.T) {
	t.Parallel()
	if os.Getenv("UPSTREAM_TEST_HOLD") != "" { // the process to be killed
		s := open(t, upstreamtest.Server(t, upstreamtest.Stubborn), testOptions())
		fmt.Printf("pid %d\n", s.process.PID())
		time.Sleep(testTime)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestDeathOfTheParent$")
	cmd.Env = append(os.Environ(), "UPSTREAM_TEST_HOLD=1", "TMPDIR="+t.TempDir()) // it cannot clean up after itself
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	_, scanErr := fmt.Fscanf(out, "pid %d\n", &pid)
	if scanErr == nil && !running(pid) {
		t.Error("the server is not there to begin with")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if scanErr != nil {
		t.Fatalf("the holder said nothing: %v", scanErr)
	}
	wantGone(t, []int{pid})
}
