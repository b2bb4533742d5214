package mcpserver_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/mcpserver"
	"github.com/mcpgen/mcpgen/runner/pii/piitest"
)

// inFolder returns a server whose customers all use one folder.
func inFolder(t *testing.T, dir string) *fixture {
	w := newFixture(t)
	skills := skillsIn(t, nil)
	w.opt.Customer = func(_ context.Context, id string) (*mcpserver.Customer, error) {
		return &mcpserver.Customer{ID: id, Files: dir, Quota: 1 << 20, Skills: always(skills), Vault: piitest.Vault(t)}, nil
	}
	return w
}

// TestCheckpoint checks that checkpoints last beyond a server and session, and that scripts can read and write them as files.
func TestCheckpoint(t *testing.T) {
	dir := t.TempDir()
	cs := inFolder(t, dir).stdio(inFolder(t, dir).server(), revisions[1], nil)
	if res := call(t, cs, "checkpoint", nil); res.IsError || textOf(res) != "there are no checkpoints yet" {
		t.Errorf("checkpoint() = %s", textOf(res))
	}
	if res := call(t, cs, "checkpoint", map[string]any{"name": "imported", "data": map[string]any{"row": 17}}); res.IsError {
		t.Fatal(textOf(res))
	}
	script := `{"name":"other","data":[1,2]}` // as a script writes it
	if err := os.WriteFile(filepath.Join(dir, "checkpoints", "of_script.json"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}

	later := inFolder(t, dir).stdio(inFolder(t, dir).server(), revisions[0], nil)
	res := call(t, later, "checkpoint", map[string]any{"name": "imported"})
	if data, _ := structured(t, res, "data").(map[string]any); data["row"] != 17.0 || !strings.Contains(textOf(res), `"data":{"row":17}`) {
		t.Errorf("the step left %v: %s, want 17.0 and %q in it", data, textOf(res), `"data":{"row":17}`)
	}
	if res := call(t, later, "checkpoint", map[string]any{"name": "of_script"}); res.IsError || structured(t, res, "name") != "of_script" {
		t.Errorf("a script's: %s", textOf(res))
	}
	res = call(t, later, "checkpoint", map[string]any{})
	if list, _ := structured(t, res, "checkpoints").([]any); len(list) != 2 {
		t.Errorf("list: %s: got %v, want 2", textOf(res), len(list))
	}
	if data, err := os.ReadFile(filepath.Join(dir, "checkpoints", "imported.json")); err != nil || !strings.Contains(string(data), `"data":{"row":17}`) {
		t.Errorf("the file is %s, %v, want %q in it and no error", data, err, `"data":{"row":17}`)
	}
	for want, args := range map[string]map[string]any{
		"there is no checkpoint": {"name": "gone"}, "a name has up to": {"name": "a/b"}, "needs a name": {"data": map[string]any{}},
		"at most 1048576": {"name": "x", "data": map[string]any{"a": strings.Repeat("x", 1<<20)}},
	} {
		if res := call(t, later, "checkpoint", args); !res.IsError || !strings.Contains(textOf(res), want) {
			t.Errorf("%v: %s; want %q", args["name"], textOf(res), want)
		}
	}
}

// TestStatsOfEnvironment checks the statistics before the first run and after a restart.
func TestStatsOfEnvironment(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not made yet")
	w := inFolder(t, dir)
	w.opt.ShowPaths = true
	cs := w.stdio(w.server(), revisions[1], nil)
	files := func(res any) any { return res.(map[string]any)["files"] }
	res := call(t, cs, "get_execution_stats", nil)
	at, _ := structured(t, res, "workspace").(map[string]any)
	if at["path"] != "/workspace" || at["localPath"] != dir || files(at) != 0.0 {
		t.Errorf("workspace: %v", at)
	}
	if limits, _ := structured(t, res, "limits").(map[string]any); limits["timeoutSeconds"] != 30.0 || limits["maxTimeoutSeconds"] != 600.0 || limits["workspaceBytes"] != 1048576.0 {
		t.Errorf("limits: %v, want 30.0, 600.0 and 1048576.0", limits)
	}
	if can, _ := structured(t, res, "capabilities").(map[string]any); can["skills"] != true || can["pii"] != true || can["servers"] == 0.0 || can["callTool"] != false {
		t.Errorf("capabilities: %v", can)
	}
	call(t, cs, "write_workspace_file", map[string]any{"filename": "a/b.txt", "content": "12345"})
	call(t, cs, "save_skill", map[string]any{"name": "flag_orders", "code": "1"})
	if n := structured(t, call(t, cs, "get_execution_stats", nil), "skills"); n != 1.0 {
		t.Errorf("%v skills, want 1.0", n)
	}

	w = inFolder(t, dir)
	later := w.stdio(w.server(), revisions[0], nil)
	at, _ = structured(t, call(t, later, "get_execution_stats", nil), "workspace").(map[string]any)
	if files(at) != 1.0 || at["bytes"] != 5.0 || at["localPath"] != nil {
		t.Errorf("after a restart: %v", at)
	}
}
