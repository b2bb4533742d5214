//go:build linux && (amd64 || arm64)

package jail_test

import (
	"bufio"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
)

// What a process and those below it use is seen from outside of them.
func TestGauge(t *testing.T) {
	cmd := exec.Command("python3", "-c", `
import os, sys, time
held = bytearray(b"x") * (64 << 20)
end = time.process_time() + 0.3
while time.process_time() < end: pass
if os.fork() == 0: time.sleep(60)
print("up", flush=True)
time.sleep(60)`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var child int
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
		if child > 0 {
			exec.Command("kill", "-9", strconv.Itoa(child)).Run()
		}
	}()
	if !bufio.NewScanner(out).Scan() {
		t.Fatal("it does not come up")
	}
	g, err := jail.NewGauge(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	r := g.Look(100, 1<<20)
	for _, pid := range r.PIDs {
		if pid != cmd.Process.Pid {
			child = pid
		}
	}
	// What both share counts once.
	if r.Tasks != 2 || !slices.Contains(r.PIDs, cmd.Process.Pid) || r.Memory < 64<<20 || r.Memory > 120<<20 || r.CPU < 250*time.Millisecond {
		t.Errorf("%+v", r)
	}
	if r := g.Look(0, 1<<20); r.Tasks == 0 {
		t.Errorf("more tasks than are counted: %+v", r)
	}
	if most := jail.MostTasks(1<<30, sandbox.Limits{Processes: 7}); most < 7 || most > 10_000 {
		t.Errorf("%d tasks for a user who has none", most)
	}
}
