package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner"
)

// TestScriptsThatRunIntoLimits sets each limit by its flag. The result names the limit, and has what was printed before.
func TestScriptsThatRunIntoLimits(t *testing.T) {
	const begin = `console.log("begun"); `
	for _, c := range []struct {
		flag, value, code string
		cause             runner.Cause
		exitCode          int
	}{
		{"--timeout", "1", begin + `for (;;);`, runner.CauseTimeout, 124},
		{"--cpu", "1", begin + `for (;;);`, runner.CauseCPU, 137},
		{"--memory", "64MB", begin + `const a = []; for (;;) a.push("x".repeat(1e6) + a.length);`, runner.CauseMemory, 137},
		{"--output-limit", "100kB", begin + `for (;;) console.log("x".repeat(99));`, runner.CauseOutput, 137},
		{"--disk", "1MB", begin + `import fs from "fs"; for (let i = 0; ; i++) fs.writeFileSync("f" + i, "x".repeat(1e5));`, runner.CauseDisk, 137},
		{"--disk-files", "20", begin + `import fs from "fs"; for (let i = 0; ; i++) fs.writeFileSync("f" + i, "");`, runner.CauseDisk, 137},
	} {
		t.Run(strings.TrimLeft(c.flag, "-"), func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := mcprun(t, "--sandbox", "embedded", "--json", "--workspace", filepath.Join(t.TempDir(), "w"), c.flag, c.value, "-e", c.code)
			var res runner.Result
			if err := json.Unmarshal([]byte(stdout), &res); err != nil {
				t.Fatalf("%v; stdout %.200q, stderr %q", err, stdout, stderr)
			}
			if code != c.exitCode || res.Cause != c.cause || !slices.Contains(res.LimitsHit, string(c.cause)) || !strings.Contains(res.Message, c.flag) {
				t.Errorf("exit code %d, cause %q, limits %q, message %q, want %d, %q, %v in it and %q in it", code, res.Cause, res.LimitsHit, res.Message, c.exitCode, c.cause, string(c.cause), c.flag)
			}
			if !strings.HasPrefix(res.Stdout, "begun\n") {
				t.Errorf("what it had printed is not there: %.100q, want %q at its start", res.Stdout, "begun\n")
			}
		})
	}
}

// TestAMessageBeginsItsOwnLine checks this also after output that was cut off in the middle of a line.
func TestAMessageBeginsItsOwnLine(t *testing.T) {
	code, _, stderr := mcprun(t, "--sandbox", "embedded", "--timeout", "1", "-e", `process.stderr.write("no end"); for (;;);`)
	if code != exit.Timeout || !strings.Contains(stderr, "no end\nmcprun: the script was stopped after 1s (--timeout)\n") {
		t.Errorf("exit code %d, %q, want %d and %q in it", code, stderr, exit.Timeout, "no end\nmcprun: the script was stopped after 1s (--timeout)\n")
	}
}

// TestTooWeakASandbox checks that such a sandbox is refused before anything starts, and that the error names suitable ones.
func TestTooWeakASandbox(t *testing.T) {
	for _, args := range [][]string{
		{"--sandbox", "embedded", "--risk", "medium"}, {"--sandbox", "process", "--risk", "critical"}, {"--image", "x", "--risk", "critical"},
	} {
		code, stdout, stderr := mcprun(t, append(args, "-e", "console.log(1)")...)
		if code != exit.Refused || stdout != "" || !strings.Contains(stderr, "too weak") || !strings.Contains(stderr, "gvisor") {
			t.Errorf(`%v: exit code %d, %q, %q, want %d, "", "too weak" in it and "gvisor" in it`, args, code, stdout, stderr, exit.Refused)
		}
	}
}
