//go:build linux

package process_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
	"github.com/mcpgen/mcpgen/runner/sandbox/process"
	"github.com/mcpgen/mcpgen/runner/sandbox/sandboxtest"
)

func TestConformance(t *testing.T) {
	b := backend(t)
	sandboxtest.Run(t, b, sandboxtest.Options{Column: column(t, b)})
}

// TestConformanceWarm runs the cases in guests that were started before there was a script.
func TestConformanceWarm(t *testing.T) {
	b := backend(t)
	sandboxtest.Run(t, b, sandboxtest.Options{Warm: true, Column: column(t, b)})
}

// withoutGroups is the column for machines on which this user cannot create control groups.
const withoutGroups = "process without groups"

func column(t *testing.T, b *process.Backend) string {
	t.Helper()
	missing := b.Probe(t.Context()).Missing
	if slices.ContainsFunc(missing, func(line string) bool { return strings.HasPrefix(line, "cgroup") }) {
		return withoutGroups
	}
	return "process"
}

// TestConformanceWithoutGroups runs the cases that differ for an ordinary user, who has no control groups here.
func TestConformanceWithoutGroups(t *testing.T) {
	if os.Geteuid() != 0 {
		return // TestConformance has done this
	}
	col, _ := sandboxtest.Named(withoutGroups)
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.v", "-test.run=^TestConformance$/./^("+strings.ReplaceAll(strings.Join(col.Cases, "|"), " ", "_")+")$")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: jail.UID, Gid: jail.UID}}
	out, err := cmd.CombinedOutput()
	for _, name := range col.Tests() {
		if !strings.Contains(string(out), "--- PASS: TestConformance/"+name+" (") {
			t.Errorf("without root, %s did not pass, want %q in it", name, "--- PASS: TestConformance/"+name+" (")
		}
	}
	if err != nil || t.Failed() {
		t.Errorf("without root: %v\n%s", err, out)
	}
}
