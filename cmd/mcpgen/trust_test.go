package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
)

// TestTrustAtTerminal asks a person once, then only about what changed.
func TestTrustAtTerminal(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	vars := map[string]string{"HOME": home, "LOCALAPPDATA": home, "NO_COLOR": "1", cli.KeyringVariable: "off"}
	run := func(answer string, args ...string) (int, string) {
		t.Helper()
		var out bytes.Buffer
		app := &cli.App{
			Name: "mcpgen", Dir: dir, Stdin: strings.NewReader(answer), Stdout: &out, Stderr: &out,
			Terminal:  cli.Terminal{Stdin: true, Stderr: true},
			LookupEnv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
		}
		return app.Run(t.Context(), newRootCmd(app), args), out.String()
	}
	const asked = "Do you trust it?"
	write(`{"mcpServers": {"one": {"command": "no-such-program-1"}, "two": {"command": "no-such-program-2"}}}`)
	if code, out := run("n\n", "sync"); code != 126 || !strings.Contains(out, "no-such-program-2\n") || !strings.Contains(out, asked) || !strings.Contains(out, "was not trusted") {
		t.Errorf(`no: exit code %d, %s, want 126, %q in it, %q in it and "was not trusted" in it`, code, out, "no-such-program-2\n", asked)
	}
	if code, out := run("\n", "trust"); code != 126 || !strings.Contains(out, asked) {
		t.Errorf("nothing: exit code %d, %s, want 126 and %q in it", code, out, asked)
	}
	if code, out := run("y\n", "sync"); code != 3 || !strings.Contains(out, asked) { // the servers do not start
		t.Errorf("yes: exit code %d, %s, want 3 and %q in it", code, out, asked)
	}
	if code, out := run("", "sync"); code != 3 || strings.Contains(out, asked) {
		t.Errorf("again: exit code %d, %s, want 3 and no %q in it", code, out, asked)
	}
	write(`{"mcpServers": {"two": {"command": "no-such-program-2"}, "three": {"command": "no-such-program-3"}}}`)
	code, out := run("y\n", "trust")
	if code != 0 || strings.Contains(out, "no-such-program-2") || !strings.Contains(out, "+ command  no-such-program-3") || !strings.Contains(out, "- command  (no longer there)") || !strings.Contains(out, `server "one"`) {
		t.Errorf("the difference: exit code %d, %s", code, out)
	}
	settings := func(rules string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "mcpgen.yaml"), []byte("version: 1\npolicy: {rules: ["+rules+"]}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	settings("{deny: two__drop}, {ask: '*', when: args.size > 5}")
	if code, out := run("y\n", "trust"); code != 0 || !strings.Contains(out, `+ policy.rules  {"deny":"two__drop"}`) {
		t.Errorf("new rules: exit code %d, %s, want 0 and %q in it", code, out, `+ policy.rules  {"deny":"two__drop"}`)
	}
	settings("{ask: '*', when: args.size > 500}")
	code, out = run("y\n", "trust")
	if want := "\n  mcpgen.yaml\n" +
		`  ~ policy.rules  {"ask":"*","when":"args.size > 500"}` + "\n" +
		`      was {"ask":"*","when":"args.size > 5"}` + "\n" +
		`  - policy.rules  {"deny":"two__drop"} (no longer there)` + "\n"; code != 0 || !strings.Contains(out, want) {
		t.Errorf("other rules: exit code %d, %s\nwant %s", code, out, want)
	}
	var many []string
	for i := range 301 {
		many = append(many, fmt.Sprintf(`"s%d": {"command": "no-such-program-%d"}`, i, i))
	}
	write(`{"mcpServers": {` + strings.Join(many, ", ") + `}}`)
	if code, out := run("n\n", "trust"); code != 126 || !strings.HasSuffix(out[:strings.Index(out, "[y/N]")],
		"\nTo read all of it page by page: mcpgen trust --show | less\nDo you trust all of it (303 servers, 303 items)? ") {
		t.Errorf("many servers: exit code %d, %s", code, out)
	}
	if code, out := run("", "trust", "--forget"); code != 0 {
		t.Errorf("forget: exit code %d, %s, want 0", code, out)
	}
	if code, out := run("", "sync"); code != 126 || !strings.Contains(out, "no-such-program-2") {
		t.Errorf(`forgotten: exit code %d, %s, want 126 and "no-such-program-2" in it`, code, out)
	}
}
