package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestServeRecommends checks that a search names what the client's own runs used with the tools that it finds, and what the settings say of
// tools and categories.
func TestServeRecommends(t *testing.T) {
	if err := buildMcpgen(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	env := append(os.Environ(), "MCPGEN_TRUST=1", "HOME="+t.TempDir(), "XDG_STATE_HOME=", "XDG_CACHE_HOME=", "CI=1")
	for name, text := range map[string]string{
		".mcp.json":   `{"mcpServers": {"desk": {"command": "deskmcp", "args": ["notes.txt"]}}}`,
		"mcpgen.yaml": "version: 1\nservers: {desk: {protocol: legacy, trusted: true, use_cases: {note: [remember the milk]}}}\nsearch: {recommend: true}\ncategories: {desk: Notes and sums of ours}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sync := exec.Command(filepath.Join(programs, "mcpgen"), "sync")
	sync.Dir, sync.Env = dir, env
	if out, err := sync.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	serve := exec.Command("mcprun", "serve", "--sandbox", "embedded")
	serve.Dir, serve.Env, serve.Stderr = dir, env, t.Output()
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: serve}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	call := func(tool string, args map[string]any) string {
		t.Helper()
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil || res.IsError {
			t.Fatalf("%s: %+v, %v", tool, res, err)
		}
		text, err := json.Marshal(res.Content)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	both := map[string]any{"code": `import { sum, note } from "./servers/desk"; await note({ text: String(await sum({ a: 1, b: 2 })) });`}
	for range 3 {
		if got := call("search_tools", map[string]any{"query": "sum"}); strings.Contains(got, "sed together") {
			t.Errorf("after fewer than 3 runs: %s", got)
		}
		call("execute_code", both)
	}
	for detail, want := range map[string]string{
		"signature": "Used together with desk__sum: desk__note (in 3 of 3 runs)", "description": "Used together: desk__note (in 3 of 3 runs)",
	} {
		if got := call("search_tools", map[string]any{"query": "sum", "detail_level": detail}); !strings.Contains(got, want) {
			t.Errorf("search_tools with detail %s = %s, want %q in it", detail, got, want)
		}
	}
	for tool, c := range map[string]struct {
		args map[string]any
		want string
	}{
		"list_tool_categories": {nil, "desk (8): Notes and sums of ours"},
		"get_tool_definition":  {map[string]any{"tool_name": "desk__note"}, "Used for: remember the milk"},
		"search_tools":         {map[string]any{"query": "remember the milk"}, "desk__note"},
	} {
		if got := call(tool, c.args); !strings.Contains(got, c.want) {
			t.Errorf("%s = %s, want %q in it", tool, got, c.want)
		}
	}
	find := map[string]any{"code": `import { searchTools } from "mcprun"; console.log((await searchTools("sum"))[0].usedTogether);`}
	if got := call("execute_code", find); !strings.Contains(got, "desk__note (in 3 of 3 runs)") {
		t.Errorf("searchTools in a script = %s", got)
	}
}
