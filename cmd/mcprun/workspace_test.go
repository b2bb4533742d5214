package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

func TestDays(t *testing.T) {
	for text, want := range map[string]time.Duration{"30d": 30 * day, "1.5d": 36 * time.Hour, "12h": 12 * time.Hour, "90m": 90 * time.Minute} {
		var d days
		if err := d.Set(text); err != nil || time.Duration(d) != want {
			t.Errorf("%s: %v, %v", text, time.Duration(d), err)
		}
	}
	for _, text := range []string{"", "d", "0d", "-1d", "30", "NaNd", "1e9d", "infd", "-3h", "x"} {
		var d days
		if err := d.Set(text); err == nil {
			t.Errorf("%q is %v", text, time.Duration(d))
		}
	}
	d := days(30 * day)
	if d.String() != "30d" {
		t.Error(d.String())
	}
}

func TestAgo(t *testing.T) {
	now := time.Date(2026, 10, 3, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		-time.Hour: "just now", 0: "just now", time.Minute: "1 minute ago", 3 * time.Hour: "3 hours ago", 40 * day: "40 days ago",
	} {
		if got := ago(now, now.Add(-d)); got != want {
			t.Errorf("%v: %q", d, got)
		}
	}
	if ago(now, time.Time{}) != "never" || !strings.HasPrefix(ago(now, now.Add(-90*day)), "2026-07-") {
		t.Error(ago(now, now.Add(-90*day)))
	}
}

// inTerminal is an app that writes to a terminal of so many columns; 0: to none.
func inTerminal(columns int) (*cli.App, *bytes.Buffer) {
	out := &bytes.Buffer{}
	return &cli.App{Stdout: out, Stderr: out, Terminal: cli.Terminal{Stdout: columns > 0, Columns: columns}}, out
}

func widest(text string) int {
	most := 0
	for line := range strings.Lines(text) {
		most = max(most, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
	}
	return most
}

func TestChart(t *testing.T) {
	for _, columns := range []int{0, 40, 60, 200} {
		app, out := inTerminal(columns)
		app.LookupEnv = func(name string) (string, bool) { return "1", name == "NO_COLOR" }
		ch := newChart(app)
		whole := workspace.Stats{Runs: 2, Calls: 3, Tokens: workspace.Tokens{Used: 100, Direct: 10_000, Saved: 9_900}}
		ch.title("acme", &whole)
		ch.bar("20261003-120000-abc123", whole.Tokens)
		ch.bar("more than direct", workspace.Tokens{Used: 5000, Direct: 2500, Saved: -2500})
		ch.bar("nothing", workspace.Tokens{})
		ch.bar("evil\x1b[2J\n", workspace.Tokens{Used: 1, Direct: 1})
		if err := ch.print(); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if limit := cmpOr(columns, plainWidth); widest(text) > max(limit, 60) || columns >= 60 && widest(text) > limit {
			t.Errorf("%d columns: %d\n%s", columns, widest(text), text)
		}
		for _, want := range []string{"99.0 %", "-100.0 %", "100 tokens used, 9,900", "█░", `evil\x1b`} {
			if !strings.Contains(text, want) && columns != 40 {
				t.Errorf("%d columns: no %q in\n%s", columns, want, text)
			}
		}
		if strings.Contains(text, "\x1b") {
			t.Errorf("%d columns: an escape in %q", columns, text)
		}
	}
}

func cmpOr(a, b int) int {
	if a != 0 {
		return a
	}
	return b
}

func TestCells(t *testing.T) {
	for _, c := range []struct{ used, direct, most, u, r int64 }{
		{0, 0, 100, 0, 0}, {1, 100, 100, 1, 19}, {50, 100, 100, 10, 10}, {100, 50, 100, 20, 0}, {1, 1, 1 << 50, 1, 0}, {-5, -5, 100, 0, 0},
	} {
		used, rest := cells(workspace.Tokens{Used: c.used, Direct: c.direct}, c.most, 20)
		if int64(used) != c.u || int64(rest) != c.r {
			t.Errorf("%+v: %d, %d", c, used, rest)
		}
	}
}

func TestFitted(t *testing.T) {
	for columns, want := range map[int]string{0: "a long title", 20: "a long…", 18: "a lo…", 16: "B", 11: "A"} {
		app, out := inTerminal(columns)
		if err := fitted(app, []string{"A", "B", "TITLE"}, [][]string{{"12345678", "1", "a long title of it"}}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) || columns > 0 && widest(strings.ReplaceAll(strings.ReplaceAll(out.String(), "\x1b[1m", ""), "\x1b[0m", "")) > columns {
			t.Errorf("%d columns:\n%s", columns, out.String())
		}
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	for n, want := range map[int64]string{9999: "9999", 10_500: "10k", 1_234_567: "1.2M", 55_000_000: "55M"} {
		if got := short(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

// TestCustomersSettings: a flag goes before the environment, that before mcpgen.yaml, and that before the default.
func TestCustomersSettings(t *testing.T) {
	dir := t.TempDir()
	p := &project{settings: config.Settings{Run: config.RunSettings{Workspaces: "file", Quota: "5MB"}}, dir: dir}
	env := map[string]string{"MCPRUN_WORKSPACES": "env", "MCPRUN_QUOTA": "6MB"}
	for _, c := range []struct {
		p     *project
		env   map[string]string
		args  []string
		at    string
		quota int64
	}{
		{&project{}, nil, nil, filepath.Join(dir, "workspaces"), 1 << 30},
		{p, nil, nil, filepath.Join(dir, "file"), 5e6},
		{p, env, nil, filepath.Join(dir, "env"), 6e6},
		{p, env, []string{"--workspaces", "flag", "--quota", "7MB"}, filepath.Join(dir, "flag"), 7e6},
	} {
		o, err := settled(t, c.p, c.env, c.args...)
		if err != nil {
			t.Fatal(err)
		}
		o.app.Dir = dir
		if got := o.folder(o.app, dir); got != c.at || o.quota != c.quota {
			t.Errorf("%v %v: %s, %d", c.env, c.args, got, o.quota)
		}
	}
}

func TestRefuseCustomers(t *testing.T) {
	base := t.TempDir()
	customers := filepath.Join(base, "workspaces")
	if err := os.MkdirAll(filepath.Join(customers, "acme", "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(customers, filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	for name, refused := range map[string]bool{
		"workspaces": true, "workspaces/acme/state": true, ".": true, "link/acme": true, "workspace": false, "workspaces2": false, "new/folder": false,
	} {
		if err := refuseCustomers(customers, filepath.Join(base, name)); (err != nil) != refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := refuseCustomers(filepath.Join(base, "none"), base); err != nil {
		t.Error(err)
	}
}

// TestRunsShareTheQuota: two runs of one customer at once, which both write as much as they can, stay below it together.
func TestRunsShareTheQuota(t *testing.T) {
	const quota, overshoot = 32 << 20, 24 << 20 // what is written until the sandbox looks again
	dir := t.TempDir()
	script := filepath.Join(dir, "fill.ts")
	code := `import fs from "fs";
for (let i = 0; i < 2000; i++) {
  fs.writeFileSync(process.argv[2] + i, "x".repeat(1e5));
  if (i % 10 === 0) await new Promise((done) => setTimeout(done, 20));
}`
	if err := os.WriteFile(script, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			code, stdout, stderr := mcprun(t, "--sandbox", "embedded", "--timeout", "60s", "--workspaces", filepath.Join(dir, "all"), "--quota", "32MiB", "--customer", "acme", script, fmt.Sprint("f", i, "-"))
			if code != 137 || !strings.Contains(stderr, "quota of customer acme") {
				t.Errorf("run %d: exit code %d\n%s%s", i, code, stdout, stderr)
			}
		})
	}
	wg.Wait()
	r, err := workspace.OpenRoot(filepath.Join(dir, "all"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c, err := r.Find("acme")
	if err != nil {
		t.Fatal(err)
	}
	info, err := c.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.Usage.Total() > quota+overshoot || info.Usage.State < quota/2 || info.Runs != 0 || info.SessionCount != 2 {
		t.Errorf("%+v", info)
	}
	for _, s := range info.Sessions {
		if s.Stats.Runs != 1 || s.Stats.Failed != 1 {
			t.Errorf("%+v", s)
		}
	}
}

func TestHelpOfCustomers(t *testing.T) {
	for _, args := range [][]string{
		{"workspace"}, {"workspace", "list"}, {"workspace", "show"}, {"workspace", "gc"}, {"workspace", "export"}, {"workspace", "import"},
		{"session"}, {"session", "list"}, {"session", "show"}, {"session", "resume"}, {"stats"},
	} {
		code, stdout, stderr := mcprun(t, append(args, "--help")...)
		if code != 0 || stderr != "" || !strings.Contains(stdout, "Examples:\n  ") {
			t.Errorf("%v: exit code %d\n%s%s", args, code, stdout, stderr)
		}
	}
	for _, flag := range []string{"--customer", "--session", "--task", "--checkpoint", "--workspaces", "--quota"} {
		if _, stdout, _ := mcprun(t, "run", "--help"); !strings.Contains(stdout, flag) {
			t.Errorf("%s is missing", flag)
		}
	}
}
