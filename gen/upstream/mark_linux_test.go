package upstream

import (
	"bufio"
	"context"
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
	"github.com/mcpgen/mcpgen/gen/owner"
	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

// withDaemon makes a server that first starts a process in a session of its own, which SIGTERM and the end of its
// standard streams do not move. Its number is in the file that is returned.
func withDaemon(t *testing.T, srv config.Server) (config.Server, string) {
	t.Helper()
	file := filepath.Join(srv.Dir, "daemon")
	srv.Args = append([]string{"-c", `setsid sh -c 'trap "" TERM; echo $$ >"$0.new"; mv "$0.new" "$0"; sleep 60; sleep 60' ` + file + ` </dev/null >/dev/null 2>&1 &
exec "$0" "$@"`, srv.Command}, srv.Args...)
	srv.Command = "sh"
	return srv, file
}

func daemonPID(t *testing.T, file string) int {
	t.Helper()
	for end := time.Now().Add(testTime); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if text, err := os.ReadFile(file); err == nil {
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatal("the server's daemon did not start")
	return 0
}

func TestDaemonsEndWithTheirServer(t *testing.T) {
	t.Parallel()
	first, firstFile := withDaemon(t, upstreamtest.Server(t, upstreamtest.Normal))
	second, secondFile := withDaemon(t, upstreamtest.Server(t, upstreamtest.Normal))
	a, b := open(t, first, testOptions()), open(t, second, testOptions())
	ofA, ofB := daemonPID(t, firstFile), daemonPID(t, secondFile)
	a.Close()
	if running(ofA) {
		t.Error("the daemon of a closed server is there")
	}
	if err := Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if !running(ofB) {
		t.Error("the daemon of a server that is in use is gone")
	}
	b.Close()
	if running(ofB) {
		t.Error("the second daemon is there")
	}
}

// A person can say that a server is to leave something running.
func TestUnmarkedDaemonStays(t *testing.T) {
	t.Parallel()
	srv, file := withDaemon(t, upstreamtest.Server(t, upstreamtest.Normal))
	srv.Env[OwnerVariable] = ""
	s := open(t, srv, testOptions())
	pid := daemonPID(t, file)
	s.Close()
	if !running(pid) {
		t.Error("the daemon is gone")
	}
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	wantGone(t, []int{pid})
}

// TestSweepEndsWhatTheDeadLeft kills a process that holds a session, whose server has a daemon.
func TestSweepEndsWhatTheDeadLeft(t *testing.T) {
	t.Parallel()
	if os.Getenv("UPSTREAM_TEST_HOLD") != "" { // the process to be killed
		srv, file := withDaemon(t, upstreamtest.Server(t, upstreamtest.Normal))
		open(t, srv, testOptions())
		os.Stdout.WriteString(strconv.Itoa(daemonPID(t, file)) + "\n")
		time.Sleep(testTime)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestSweepEndsWhatTheDeadLeft$")
	cmd.Env = append(os.Environ(), "UPSTREAM_TEST_HOLD=1", "TMPDIR="+t.TempDir()) // it cannot clean up after itself
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, readErr := bufio.NewReader(out).ReadString('\n')
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if readErr != nil || err != nil {
		t.Fatalf("the holder said %q: %v", line, readErr)
	}
	if !running(pid) {
		t.Fatal("the daemon ended with its server: there is nothing to sweep")
	}
	if err := Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if running(pid) {
		t.Error("the daemon is there")
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

// Whoever writes another's name into its environment must not make root end a process of somebody else's.
func TestSweepJudgesByTheUser(t *testing.T) {
	me, err := owner.Self()
	if err != nil {
		t.Fatal(err)
	}
	gone := me
	gone.PID = 1 << 30
	stranger := gone
	stranger.UID = me.UID + 1
	for _, tt := range []struct {
		name, mark string
		ends       bool
	}{
		{"of a dead one", gone.String(), true},
		{"of a living one", me.String(), false},
		{"of another user", stranger.String(), false},
		{"of nobody", "x", false},
	} {
		cmd := exec.Command("sleep", "60")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "A=1", OwnerVariable + "=" + tt.mark}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// A program that is just being started has no environment for a moment.
		for end := time.Now().Add(testTime); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid)); err != nil || len(env) > 0 {
				break
			}
		}
		if err := Sweep(t.Context()); err != nil {
			t.Error(err)
		}
		if tt.ends {
			wantGone(t, []int{cmd.Process.Pid})
		} else if !running(cmd.Process.Pid) {
			t.Errorf("%s: it was ended", tt.name)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// Reading of a process that is stuck may never end.
func TestSweepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "60")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), OwnerVariable + "=x"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	stuck := make(chan struct{})
	defer close(stuck)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := endMarked(ctx, func(mark, int) bool { <-stuck; return false }); err == nil {
		t.Error("no error, though it was stuck")
	}
}

func BenchmarkSweep(b *testing.B) {
	for b.Loop() {
		if err := Sweep(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
