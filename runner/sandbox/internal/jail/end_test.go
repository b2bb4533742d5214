//go:build linux && (amd64 || arm64)

package jail_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
)

// stubborn returns a script that starts busy loops that never yield, ignore every signal, and hide from their parent. All of them carry
// marker.
func stubborn(marker string) string {
	return fmt.Sprintf(`
		busy() { trap '' HUP INT TERM QUIT USR1; while :; do :; done; }
		export marker=%[1]s
		(setsid sh -c 'trap "" HUP TERM INT; (while :; do :; done) & (while :; do :; done) &' %[1]s &)
		sh -c 'trap "" HUP TERM INT; echo started; while :; do :; done' %[1]s`, marker)
}

// alive lists processes other than this one with marker among their arguments.
func alive(marker string) []string {
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err == nil && strings.Contains(string(text), marker) && f != fmt.Sprintf("/proc/%d/cmdline", os.Getpid()) {
			found = append(found, f+": "+strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return found
}

func waitGone(t *testing.T, marker string) {
	t.Helper()
	var left []string
	for range 1200 {
		if left = alive(marker); len(left) == 0 {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Errorf("still alive:\n%s", strings.Join(left, "\n"))
}

// startStubborn returns when the busy processes are running.
func startStubborn(t *testing.T, ctx context.Context, marker string) *jail.Child {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cfg := shell(stubborn(marker))
	cfg.Stdout, cfg.Stderr = w, os.Stderr
	c, err := jail.Start(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(r).ReadString('\n'); line != "started\n" {
		t.Fatalf("%q %v, want %q", line, err, "started\n")
	}
	if len(alive(marker)) < 2 {
		t.Error("alive does not find the busy processes, so it cannot show that they ended")
	}
	return c
}

func TestKillEndsEverything(t *testing.T) {
	marker := fmt.Sprintf("kill-marker-%d", os.Getpid())
	c := startStubborn(t, t.Context(), marker)
	c.Kill()
	c.Kill()
	exit, err := c.Wait()
	if err != nil || exit.Code != 137 || exit.Killed != "" {
		t.Errorf(`%+v %v, want Code 137, Killed "" and no error`, exit, err)
	}
	if left := alive(marker); len(left) != 0 {
		t.Errorf("alive after Wait: %q, want len(left) 0", left)
	}
}

func TestEndOfContextEndsEverything(t *testing.T) {
	marker := fmt.Sprintf("ctx-marker-%d", os.Getpid())
	ctx, cancel := context.WithCancel(t.Context())
	c := startStubborn(t, ctx, marker)
	cancel()
	if exit, err := c.Wait(); err != nil || exit.Code != 137 {
		t.Errorf("%+v %v, want Code 137 and no error", exit, err)
	}
	if left := alive(marker); len(left) != 0 {
		t.Errorf("alive after Wait: %q, want len(left) 0", left)
	}
	if _, err := jail.Start(ctx, shell("true")); !errors.Is(err, context.Canceled) {
		t.Errorf("start after the end: %v, want %v", err, context.Canceled)
	}
}

func TestProgramsEndTakesDaemonsAlong(t *testing.T) {
	marker := fmt.Sprintf("daemon-marker-%d", os.Getpid())
	got := run(t, shell("(setsid sh -c 'while :; do :; done' "+marker+" &); exit 4"))
	if got.Code != 4 {
		t.Errorf("%+v, want Code 4", got)
	}
	if left := alive(marker); len(left) != 0 {
		t.Errorf("alive after Wait: %q, want len(left) 0", left)
	}
}

const hostVariable = "JAIL_TEST_HOST"

// TestHostForKilling is the host that TestKilledHost kills.
func TestHostForKilling(t *testing.T) {
	marker := os.Getenv(hostVariable)
	if marker == "" {
		return
	}
	if !strings.HasSuffix(marker, "warm") {
		startStubborn(t, t.Context(), marker)
	} else {
		cfg := shell(stubborn(marker))
		cfg.Warm = true // it is never bound
		if _, err := jail.Start(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		for len(alive(marker)) < 2 {
			time.Sleep(10 * time.Millisecond)
		}
	}
	fmt.Println("jail", marker)
	select {} // until it is killed
}

func TestKilledHost(t *testing.T) {
	for _, c := range []struct {
		how  syscall.Signal
		kind string
	}{{syscall.SIGKILL, "cold"}, {syscall.SIGQUIT, "cold"}, {syscall.SIGKILL, "warm"}} {
		how := c.how
		marker := fmt.Sprintf("host-marker-%d-%d-%s", os.Getpid(), how, c.kind)
		host := exec.Command("/proc/self/exe", "-test.run=^TestHostForKilling$")
		host.Env = append(os.Environ(), hostVariable+"="+marker)
		out, err := host.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := host.Start(); err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "jail "+marker; {
		}
		if len(alive(marker)) == 0 {
			t.Error("got no running jail, want one")
		}
		_ = host.Process.Signal(how)
		_ = host.Wait()
		waitGone(t, marker)
		waitRemoved(t, fmt.Sprintf("/sys/fs/cgroup/*/mcprun-%d-*", host.Process.Pid))
	}
}

// waitRemoved fails the test if files that match the pattern still exist after thirty seconds.
func waitRemoved(t *testing.T, pattern string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		left, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("left behind: %q", left)
		}
	}
}

func TestMainThatForgotInit(t *testing.T) {
	cfg := shell("true")
	cfg.Exe = "/bin/true"
	if _, err := jail.Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "Init") {
		t.Errorf(`got %v, want an error and "Init" in it`, err)
	}
}

func TestInheritedDescriptorsAreClosed(t *testing.T) {
	fd, err := unix.Open("/etc/passwd", unix.O_RDONLY, 0) // without close-on-exec, as a careless parent leaves it
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	got := run(t, shell("ls -l /proc/self/fd; ls -l /proc/*/fd"))
	if strings.Contains(got.stdout, "passwd") {
		t.Errorf(`inherited: %s, want no "passwd" in it`, got.stdout)
	}
}

// TestKillComesSecond checks that a program counts as killed if it ends because its killer closed its connection first.
func TestKillComesSecond(t *testing.T) {
	for code, want := range map[int]int{125: 137, 3: 3} {
		c, err := jail.Start(t.Context(), shell(fmt.Sprintf("read line <&3; exit %d", code)))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Bridge().Close(); err != nil {
			t.Error(err)
		}
		<-c.Done()
		c.Kill()
		if exit, err := c.Wait(); err != nil || exit.Code != want || exit.Killed != "" {
			t.Errorf(`%d: %+v %v, want Code %v, Killed "" and no error`, code, exit, err, want)
		}
	}
}
