package main

import (
	"strings"
	"testing"
)

// TestHelpShowsEveryFlag: one that is in no group would not be there.
func TestHelpShowsEveryFlag(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"run", "--help"}, {}} {
		code, stdout, stderr := mcprun(t, args...)
		if code != 0 || stderr != "" {
			t.Errorf("%v: exit code %d, stderr %q", args, code, stderr)
		}
		for _, name := range []string{
			"eval", "language", "var", "vars", "check", "tsc", "pyright", "daemon", "skills", "call-timeout", "parallel", "max-result", "strict-output",
			"allow-drift", "dry-run", "record", "replay", "replay-match", "elicit", "max-output", "workspace", "sandbox", "risk", "image", "runsc", "config", "servers", "timeout", "memory", "cpu", "processes", "open-files",
			"file-size", "output-limit", "disk", "disk-files", "tmp", "json", "trace", "verbose", "quiet", "debug", "help",
		} {
			if !strings.Contains(stdout, "--"+name+" ") && !strings.Contains(stdout, "--"+name+"[=") {
				t.Errorf("%v: --%s is missing", args, name)
			}
		}
		if !strings.Contains(stdout, "(default 500MB)") || !strings.Contains(stdout, "\nLimits:\n") {
			t.Errorf("%v:\n%s", args, stdout)
		}
	}
	if _, stdout, _ := mcprun(t, "doctor", "--help"); !strings.Contains(stdout, "--no-speed") || strings.Contains(stdout, "Limits:") {
		t.Errorf("the help of doctor:\n%s", stdout)
	}
}
