package mcpserver_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/pii/piitest"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

// withPersonal gives the customer a workspace, and a vault in which [EMAIL_1] is kim@example.com and [ADDRESS_1] has a line break.
func (w *fixture) withPersonal(mode config.PIIMode) (files string) {
	w.t.Helper()
	p := &chain.Personal{Outlet: pii.NewOutlet(piitest.Vault(w.t), pii.OutletSettings{}), Mode: mode, Servers: map[string]config.PIIMode{"drive": config.PIIOff}}
	if got := string(p.MaskJSON([]byte(`{"email":"kim@example.com","address":"Main Street 1\nOslo"}`))); got != `{"email":"[EMAIL_1]","address":"[ADDRESS_1]"}` {
		w.t.Fatalf("MaskJSON() = %s, want the first tokens", got)
	}
	files = w.t.TempDir()
	skills := skillsIn(w.t, nil)
	w.opt.Customer = func(context.Context, string) (*mcpserver.Customer, error) {
		return &mcpserver.Customer{ID: "acme", Files: files, Skills: always(skills), Log: w, Personal: func() *chain.Personal { return p }}, nil
	}
	return files
}

// TestSavedSkillsArePersonal: a skill that is loaded and saved again has the same constants.
func TestSavedSkillsArePersonal(t *testing.T) {
	for mode, want := range map[config.PIIMode]string{config.PIIOutput: "kim@example.com", config.PIIBridge: "[EMAIL_1]"} {
		w := newFixture(t)
		w.withPersonal(mode)
		cs := w.stdio(w.server(), revisions[1], nil)
		code := `export const to = "[EMAIL_1]";`
		for range 2 {
			if res := call(t, cs, "save_skill", map[string]any{"name": "who", "code": code, "description": "Writes to [EMAIL_1]."}); res.IsError {
				t.Fatalf("%s: save_skill: %s", mode, textOf(res))
			}
			if code = textOf(call(t, cs, "load_skill", map[string]any{"name": "who"})); !strings.Contains(code, `"[EMAIL_1]"`) {
				t.Errorf("%s: load_skill: %s, want the token in it", mode, code)
			}
		}
		customer, err := w.opt.Customer(t.Context(), "acme")
		if err != nil {
			t.Fatal(err)
		}
		skills, err := customer.Skills()
		if err != nil {
			t.Fatal(err)
		}
		k, err := skills.Load("who")
		if err != nil {
			t.Fatal(err)
		}
		if _, saved, _ := k.Main(""); !strings.Contains(saved, `"`+want+`"`) || k.Description != "Writes to "+want+"." {
			t.Errorf("%s: the skill is %q, described as %q, want %q in both", mode, saved, k.Description, want)
		}
		if res := call(t, cs, "save_skill", map[string]any{"name": "other", "code": `export const to = "[EMAIL_9]";`}); res.IsError != (mode == config.PIIOutput) {
			t.Errorf("%s: a token that is unknown: %s", mode, textOf(res))
		}
	}
}

// TestLargeResultsArePersonal: a large result in the workspace is like the other files there, and what the model sees of it has tokens.
func TestLargeResultsArePersonal(t *testing.T) {
	const line = "write to [EMAIL_1] "
	for _, c := range []struct {
		mode       config.PIIMode
		tool, want string
	}{
		{config.PIIOutput, "crm__get_record", "kim@example.com"}, {config.PIIBridge, "crm__get_record", "[EMAIL_1]"},
		{config.PIIOutput, "drive__get_document", "[EMAIL_1]"}, // a server whose mode is off: its results have no tokens
		{config.PIIOutput, "", "kim@example.com at Main Street 1\\nOslo"}, {config.PIIBridge, "", "[EMAIL_1] at [ADDRESS_1]"},
	} {
		w := newFixture(t)
		files := w.withPersonal(c.mode)
		w.opt.MaxText = 100
		w.opt.Call = func(_ context.Context, job *mcpserver.CallJob) (*mcpserver.CallAnswer, error) {
			return &mcpserver.CallAnswer{Raw: json.RawMessage(`{"content":[{"type":"text","text":"` + strings.Repeat(line, 20) + `"}]}`), Record: chain.CallRecord{Tool: job.Tool}}, nil
		}
		w.run = func(context.Context, *mcpserver.Job) (*runner.Result, error) {
			return &runner.Result{Cause: runner.CauseExit, Value: json.RawMessage(`"` + strings.Repeat("[EMAIL_1] at [ADDRESS_1] ", 20) + `"`)}, nil
		}
		cs := w.stdio(w.server(), revisions[1], nil)
		var res *mcp.CallToolResult
		if c.tool != "" {
			res = call(t, cs, "call_tool", map[string]any{"tool": c.tool})
		} else {
			res = call(t, cs, "execute_code", map[string]any{"code": "1"})
		}
		if text := textOf(res); !strings.Contains(text, "in the workspace") || strings.Contains(text, "kim@") {
			t.Errorf("%s, %q: %s, want where the file is, and no address", c.mode, c.tool, text)
		}
		all, err := filepath.Glob(filepath.Join(files, workspace.StoreDir, "results", "*"))
		if err != nil || len(all) != 1 {
			t.Fatalf("%s, %q: %v, files %q, want one", c.mode, c.tool, err, all)
		}
		text, err := os.ReadFile(all[0])
		if err != nil || strings.Count(string(text), c.want) != 20 || c.tool == "" && !json.Valid(text) {
			t.Errorf("%s, %q: %v, the file has %s, want %q in it", c.mode, c.tool, err, text, c.want)
		}
	}
}
