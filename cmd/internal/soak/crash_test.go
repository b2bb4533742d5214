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

// crashVariable makes this test binary run a script and panic in the middle of it; the value names the sandbox, the
// language and the runtime folder.
const crashVariable = "MCPGEN_SOAK_CRASH"

const (
	// goneTime is what may pass from the next start until all that a crashed host has left is gone.
	goneTime = 10 * time.Second
	// aloneTime is what may pass until guests are gone that nobody sweeps away.
	aloneTime = 30 * time.Second
)

// crashes runs a script whose first output makes this process panic, once its standard input says so.
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
			_, err := r.Run(context.Background(), runner.Script{Name: "crash", Code: code, Language: sandbox.Language(language), Backend: b, Stdout: stdout})
			return err
		}
		// The first lets the pool know what to keep.
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

// panicking is a writer that panics when standard input has a line, and asks for it when a warm guest waits.
type panicking struct{ guests sandbox.Backend }

func (p *panicking) Write(b []byte) (int, error) {
	if p == nil {
		return len(b), nil
	}
	waitIdle(p.guests)
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	panic("as the test wants it")
}

// TestPanic: a host that panics while a script runs and warm guests wait leaves nothing that is there 10 s after the
// next start.
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

// TestKilledHost: guests end when their host is killed, those too whose scripts never let their interpreter look at the
// connection, without anybody starting mcprun anew; warm ones as well. What is left in folders and control groups goes
// with the next start.
func TestKilledHost(t *testing.T) {
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			for _, language := range need(t, name) {
				t.Run(string(language), func(t *testing.T) {
					t.Parallel()
					crash(t, name, string(language), func(cmd *exec.Cmd, _ io.Writer) {
						time.Sleep(300 * time.Millisecond) // most likely it is in its loop then
						_ = cmd.Process.Kill()
					})
				})
			}
		})
	}
}

// crash runs a host and ends it by end while a script is busy.
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
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	family := descendants(cmd.Process.Pid)
	end(cmd, in)
	_ = cmd.Wait()
	killed := cmd.ProcessState.ExitCode() < 0
	if line != "ready\n" || !killed && !strings.Contains(said.String(), "as the test wants it") {
		t.Fatalf("it said %q and ended with %s:\n%.3000s", line, cmd.ProcessState, said.String())
	}
	if len(family) == 0 && name != "docker" {
		t.Error("it had no child processes: the test looks at nothing")
	}
	running := func() (left []string) {
		for _, each := range family {
			if each.alive() {
				left = append(left, "process "+strconv.Itoa(each.pid)+" "+each.name)
			}
		}
		return append(left, containers(t, cmd.Process.Pid)...)
	}
	if killed {
		wentWithin(t, aloneTime, running)
	}
	b, err := open(name, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Sweep(t.Context()); err != nil {
		t.Errorf("sweep: %v", err)
	}
	wentWithin(t, goneTime, func() []string { return append(running(), leftOf(t, cmd.Process.Pid, dir)...) })
}

// wentWithin fails the test when a moment from now there still is something left.
func wentWithin(t *testing.T, d time.Duration, look func() []string) {
	t.Helper()
	for end := time.Now().Add(d); ; time.Sleep(20 * time.Millisecond) {
		left := look()
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s later there is left:\n%s", d, strings.Join(left, "\n"))
		}
	}
}
