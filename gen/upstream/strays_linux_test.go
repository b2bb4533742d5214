package upstream

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/stdio"
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
	wantGone(t, []int{ofA})
	if err := Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if !running(ofB) {
		t.Error("the daemon of a server that is in use is gone")
	}
	b.Close()
	wantGone(t, []int{ofB})
}

// A person can say that a server is to leave something running.
func TestUnmarkedDaemonStays(t *testing.T) {
	t.Parallel()
	srv, file := withDaemon(t, upstreamtest.Server(t, upstreamtest.Normal))
	srv.Env[stdio.OwnerVariable] = ""
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
	pid := deadHoldersDaemon(t)
	for tries := 1; !running(pid); tries++ { // other tests, and other programs of this machine, sweep too
		if tries == 5 {
			t.Fatal("the daemon ended with its server: there is nothing to sweep")
		}
		pid = deadHoldersDaemon(t)
	}
	if err := Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	wantGone(t, []int{pid})
}

// deadHoldersDaemon kills the process that holds the session, and returns the daemon of its server.
func deadHoldersDaemon(t *testing.T) int {
	t.Helper()
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
	return pid
}
