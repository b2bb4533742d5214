package stdio

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/owner"
)

const testTime = 30 * time.Second

// running reports whether a process exists and is not a zombie.
func running(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// A program that writes another owner into its environment must not make root end somebody else's process.
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
			for end := time.Now().Add(testTime); running(cmd.Process.Pid) && time.Now().Before(end); {
				time.Sleep(time.Millisecond) // SIGKILL is delivered, but the kernel may need a moment
			}
			if running(cmd.Process.Pid) {
				t.Errorf("%s: the process was not ended", tt.name)
			}
		} else if !running(cmd.Process.Pid) {
			t.Errorf("%s: the process was ended", tt.name)
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
		t.Error("no error, though it was stuck: got no error, want an error")
	}
}

func BenchmarkSweep(b *testing.B) {
	for b.Loop() {
		if err := Sweep(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
