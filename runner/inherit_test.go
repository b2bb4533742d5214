package runner_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// TestLaunchInherits launches runs with a Runner of their own each, as processes of a program that embeds it would.
func TestLaunchInherits(t *testing.T) {
	rules := newPolicy(t, config.PolicyPart{Rules: []config.PolicyRule{{Name: "no mixing", Deny: config.Globs{"database__*"}, When: "'calculator' in taint"}}})
	up := &fakeUpstreams{answers: map[string]*upstream.CallResult{
		"calculator/add": {Structured: []byte(`{"result":3}`)}, "database/list_tables": {Structured: []byte(`{"tables":[]}`)},
	}}
	labels, other, folder := filepath.Join(t.TempDir(), "taint"), filepath.Join(t.TempDir(), "taint"), t.TempDir()
	const add, tables = "calculator__add", "database__list_tables"
	args := map[string]object{add: {"numbers": []int{1, 2}}, tables: {}}
	// launch runs a guest that does things one after another, and returns the reply to the last call.
	launch := func(labels, folder string, do ...any) string {
		t.Helper()
		r, err := runner.New(&runner.Options{Tree: "../servers", Upstreams: up, Taint: labels})
		if err != nil {
			t.Fatal(err)
		}
		reply := ""
		list := machine("embedded")
		list[0].(*fakeBackend).guest = func(g *guest) sandbox.Exit {
			g.begin()
			for i, each := range do {
				switch each := each.(type) {
				case string:
					text, err := json.Marshal(g.call(i+1, each, args[each]))
					reply = string(text)
					if err != nil {
						reply = err.Error()
					}
				case func() error:
					if err := each(); err != nil {
						t.Error(err)
					}
				}
			}
			g.done(nil)
			return sandbox.Exit{}
		}
		s := &runner.Script{Name: "script.ts", Code: "1", Language: sandbox.LangTypeScript, Workspace: folder}
		if _, err := r.Launch(t.Context(), s, runner.LaunchOptions{Sandboxes: list, Policy: rules}); err != nil {
			return err.Error()
		}
		return reply
	}
	file := filepath.Join(folder, "leads.csv")
	write := func() error { return os.WriteFile(file, []byte("x"), 0o600) }
	const refused = `the file \"leads.csv\" of the workspace may hold data of calculator`
	for i, c := range []struct {
		labels, folder string
		do             []any
		want           string
	}{
		{labels, folder, []any{tables, write}, `"reply"`},
		{labels, folder, []any{add, write}, `"reply"`},
		{labels, folder, []any{tables}, refused},
		{labels, t.TempDir(), []any{tables}, `"reply"`},
		{"", folder, []any{tables}, `"reply"`}, // as documented
		{labels, folder, []any{func() error { return os.Remove(file) }}, ""},
		{labels, folder, []any{tables}, `"reply"`},
		{filepath.Join(folder, "taint"), folder, []any{tables}, "a script that may write to the workspace"},
		{labels, folder, []any{func() error {
			lock := filepath.Join(labels, "lock")
			return errors.Join(os.Remove(lock), os.Mkdir(lock, 0o700))
		}, add}, "the result is withheld"},
		{labels, folder, []any{add}, "lock is not a regular file"},
		{other, folder, []any{func() error {
			return errors.Join(os.RemoveAll(other), os.WriteFile(other, nil, 0o600))
		}, add}, "read whose data the files of"},
	} {
		got := launch(c.labels, c.folder, c.do...)
		if c.want == `"reply"` && strings.Contains(got, "policy:") || c.want != `"reply"` && !strings.Contains(got, c.want) {
			t.Errorf("run %d: %s, want %s", i+1, got, c.want)
		}
	}
}
