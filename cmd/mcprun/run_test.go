package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner"
)

// TestFlagsThatExcludeEachOther checks that such flags are reported before anything starts.
func TestFlagsThatExcludeEachOther(t *testing.T) {
	for _, c := range []struct {
		want string
		args []string
	}{
		{"one of the two", []string{"--replay", "a", "--dry-run"}},
		{"the same file", []string{"--replay", "a", "--record", "./a"}},
		{`"fuzzy" is not one of strict, loose`, []string{"--replay-match", "fuzzy"}},
		{"open the recording to replay", []string{"--replay", "nothing.jsonl"}},
		{"nobody can be asked", []string{"--elicit", "prompt"}},
		{"read the answers", []string{"--elicit", "nothing.json"}},
		{"at least 500", []string{"--max-output", "20"}},
		{`"on" is not one of off, auto`, []string{"--daemon", "on"}},
	} {
		code, stdout, stderr := mcprun(t, append(c.args, "--sandbox", "embedded", "-e", "console.log(1)")...)
		if code != exit.Runner || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf(`%v: exit code %d, %q, %q, want %d, "" and %q in it`, c.args, code, stdout, stderr, exit.Runner, c.want)
		}
	}
}

// mcprun runs the command in an empty folder. None of these arguments start a sandbox.
func mcprun(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	app := &cli.App{
		Name: "mcprun", Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Dir: t.TempDir(), FailCode: exit.Runner,
		LookupEnv: func(string) (string, bool) { return "", false },
	}
	code = app.Run(t.Context(), newRoot(app, resources.Cold{}), args)
	return code, out.String(), errs.String()
}

func TestScriptThatDoesNotLoad(t *testing.T) {
	code, stdout, stderr := mcprun(t, "--sandbox", "embedded", "-e", "let x = ;")
	if code != 1 || stdout != "" || !strings.Contains(stderr, "eval.ts:1:9") {
		t.Errorf(`exit code %d, stdout %q, stderr %q, want 1, "" and "eval.ts:1:9" in it`, code, stdout, stderr)
	}
	code, stdout, stderr = mcprun(t, "--sandbox", "embedded", "--json", "-e", "let x = ;")
	var res runner.Result
	if err := json.Unmarshal([]byte(stdout), &res); err != nil || stderr != "" {
		t.Fatalf(`%v; stdout %q, stderr %q, want "" and no error`, err, stdout, stderr)
	}
	if code != 1 || res.ExitCode != 1 || res.Cause != runner.CauseError || res.Error == nil || !strings.Contains(res.Stderr, "eval.ts:1:9") {
		t.Errorf("exit code %d, result %+v", code, res)
	}
	if strings.Contains(stdout, "null") {
		t.Errorf(`a list is null: %s, want no "null" in it`, stdout)
	}
}

func TestTimeThatIsNone(t *testing.T) {
	for _, value := range []string{"0", "-1s", "soon"} {
		code, _, stderr := mcprun(t, "--timeout", value, "-e", "1")
		if code != exit.Runner || !strings.Contains(stderr, "timeout") {
			t.Errorf(`--timeout %s: exit code %d, %q, want %d and "timeout" in it`, value, code, stderr, exit.Runner)
		}
	}
}

func TestRunThatCannotBeMade(t *testing.T) {
	code, stdout, stderr := mcprun(t, "--sandbox", "vm", "--json", "-e", "1")
	var res runner.Result
	if err := json.Unmarshal([]byte(stdout), &res); err != nil {
		t.Fatalf("%v; stdout %q", err, stdout)
	}
	if code != exit.NoBackend || res.ExitCode != code || res.Cause != runner.CauseFailed || !strings.Contains(res.Message, `"vm"`) {
		t.Errorf("exit code %d, result %+v", code, res)
	}
	if !strings.Contains(stderr, "choose one of") {
		t.Errorf(`stderr %q, want "choose one of" in it`, stderr)
	}
}

func TestWorkspaceWithTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, ".mcp.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers": {}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := mcprun(t, "--sandbox", "embedded", "--config", file, "--workspace", dir, "-e", "1")
	if code != exit.Runner || !strings.Contains(stderr, "could change") || !strings.Contains(stderr, "hint: ") {
		t.Errorf(`exit code %d, %q, want %d, "could change" in it and "hint: " in it`, code, stderr, exit.Runner)
	}
}

// TestRunReadsTheSettings runs the command with settings that cannot be followed.
func TestRunReadsTheSettings(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(".mcp.json", `{"mcpServers": {}}`)
	for yaml, want := range map[string]string{
		"run: {sandbox: vm}":                  `"vm"`,
		"run: {memory: 1KB}":                  "mcpgen.yaml:2: run.memory: 1KB is too little",
		"run: {disk: much}":                   `mcpgen.yaml:2: run.disk: "much" is not a size`,
		"run: {open_files: 3}":                "mcpgen.yaml:2: run.open_files: 3 is too little: at least 64",
		"run: {risk: high, sandbox: process}": `sandbox "process" is too weak for code of high risk`,
		"run: {timeout: none}":                "mcpgen.yaml:2: run.timeout: it is not a time",
	} {
		write("mcpgen.yaml", "version: 1\n"+yaml+"\n")
		code, _, stderr := mcprun(t, "--trust-config", "--config", filepath.Join(dir, ".mcp.json"), "-e", "1")
		if code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %q", yaml, code, stderr)
		}
	}
}
