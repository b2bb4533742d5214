package soak

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// crashVariable makes this test binary run a script and panic during the run. Its value is the sandbox, the language and
// the runtime folder.
const crashVariable = "MCPGEN_SOAK_CRASH"

// goneTime bounds the time until everything that a crashed host left is gone.
const goneTime = 10 * time.Second

// crashes runs a script during which this process panics, once it reads a line from standard input. It reports whether
// this process was started for that.
func crashes() bool {
	words := strings.Split(os.Getenv(crashVariable), " ")
	if len(words) != 3 {
		return false
	}
	err := func() error {
		b, err := openWarm(words[0], words[2])
		if err != nil {
			return err
		}
		r, err := runner.New(&runner.Options{Tree: tree(), Upstreams: adder{}})
		if err != nil {
			return err
		}
		run := func(language, code string, stdout *panicking) error {
			_, err := r.Launch(context.Background(), &runner.Script{Name: "crash", Code: code, Language: sandbox.Language(language), Stdout: stdout},
				runner.LaunchOptions{Sandboxes: []sandbox.Backend{b}, Sandbox: b.Name()})
			return err
		}
		// The first run tells the pool what to keep.
		if err := run(words[1], preamble(words[1]), nil); err != nil {
			return err
		}
		return run(words[1], preamble(words[1])+busy(words[1]), &panicking{b})
	}()
	fmt.Fprintln(os.Stderr, "it did not crash:", err)
	return true
}

func preamble(language string) string {
	if language == string(sandbox.LangPython) {
		return preamblePy
	}
	return preambleTS
}

func busy(language string) string {
	if language == string(sandbox.LangPython) {
		return busyPy
	}
	return busyTS
}

// panicking is a writer that waits for a warm guest, prints "ready", and panics when standard input has a line.
type panicking struct{ guests sandbox.Backend }

func (p *panicking) Write(b []byte) (int, error) {
	if p == nil {
		return len(b), nil
	}
	waitIdle(p.guests)
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	panic("requested by the test")
}

// TestPanic checks that 10 s later nothing is left of a host that panicked while a script ran and warm guests waited.
func TestPanic(t *testing.T) {
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			for _, language := range need(t, name) {
				t.Run(string(language), func(t *testing.T) {
					t.Parallel()
					crash(t, name, string(language), func(cmd *exec.Cmd, in io.Writer) { fmt.Fprintln(in) })
				})
			}
		})
	}
}

// TestKilledHost checks that guests, also warm ones and those in an endless loop, end when their host is killed, without
// another start of mcprun, and that their folders and control groups are removed.
func TestKilledHost(t *testing.T) {
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			for _, language := range need(t, name) {
				t.Run(string(language), func(t *testing.T) {
					t.Parallel()
					crash(t, name, string(language), func(cmd *exec.Cmd, _ io.Writer) {
						time.Sleep(300 * time.Millisecond) // most likely the script is in its loop then
						_ = cmd.Process.Kill()
					})
				})
			}
		})
	}
}

// crash starts a host, and ends it with end while a script is busy.
func crash(t *testing.T, name, language string, end func(host *exec.Cmd, in io.Writer)) {
	dir := privateDir(t)
	ctx, cancel := context.WithTimeout(t.Context(), runTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), crashVariable+"="+strings.Join([]string{name, language, dir}, " "))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	family := descendants(cmd.Process.Pid)
	end(cmd, in)
	_ = cmd.Wait()
	killed := cmd.ProcessState.ExitCode() < 0
	if line != "ready\n" || !killed && !strings.Contains(stderr.String(), "requested by the test") {
		t.Fatalf("it printed %q and ended with %s:\n%.3000s", line, cmd.ProcessState, stderr.String())
	}
	if len(family) == 0 && name != "docker" {
		t.Error("it had no child processes to check")
	}
	running := func() (left []string) {
		for _, each := range family {
			if each.alive() {
				left = append(left, "process "+strconv.Itoa(each.pid)+" "+each.name)
			}
		}
		return append(left, containers(t, cmd.Process.Pid)...)
	}
	goneWithin(t, goneTime, func() []string { return append(running(), leftOf(t, cmd.Process.Pid, dir)...) })
}

// goneWithin fails the test if look still returns something after that time.
func goneWithin(t *testing.T, d time.Duration, look func() []string) {
	t.Helper()
	for end := time.Now().Add(d); ; time.Sleep(20 * time.Millisecond) {
		left := look()
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("left after %s:\n%s", d, strings.Join(left, "\n"))
		}
	}
}
