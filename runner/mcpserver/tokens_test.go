package mcpserver_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/tokens"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
)

// TestFixedCost bounds the tokens that every client pays before the first call, without the index.
func TestFixedCost(t *testing.T) {
	for mode, most := range map[mcpserver.Mode]int{mcpserver.ModeAll: 1025, mcpserver.ModeCore: 475, mcpserver.ModeCode: 310} {
		w := newFixture(t)
		w.opt.Mode, w.opt.IndexTokens = mode, -1
		list := w.server().Definitions()
		if n := tokens.Count(string(list)); n >= most {
			t.Errorf("%s: %d tokens; fewer than %d are allowed:\n%s", mode, n, most, list)
		} else {
			t.Logf("%s: %d tokens", mode, n)
		}
		// What a client gets has the same tools; its envelope is not for the model.
		cs := w.stdio(w.server(), revisions[1], nil)
		res, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		wire, err := json.Marshal(map[string]any{"tools": res.Tools})
		if err != nil {
			t.Fatal(err)
		}
		if n := tokens.Count(string(wire)); n >= most {
			t.Errorf("%s: the client gets %d tokens; fewer than %d are allowed:\n%s", mode, n, most, wire)
		}
		if res := cs.InitializeResult(); res.Instructions != "" {
			t.Errorf("instructions cost tokens too: %q", res.Instructions)
		}
	}
}

// TestTools checks the documented names and parameters.
func TestTools(t *testing.T) {
	want := map[string]string{
		"execute_code": "code,context_vars,language,memory_mb,timeout_seconds", "search_tools": "category,detail_level,query",
		"get_tool_definition": "category,tool_name", "list_tool_categories": "query", "call_tool": "arguments,tool",
		"save_skill": "code,description,language,name", "load_skill": "name", "list_skills": "query", "sanitize_pii": "text", "restore_pii": "text",
		"write_workspace_file": "content,filename", "read_workspace_file": "filename", "list_workspace_files": "subpath", "checkpoint": "data,name", "get_execution_stats": "top",
	}
	w := newFixture(t)
	w.opt.Mode = mcpserver.ModeAll
	cs := w.stdio(w.server(), revisions[0], nil)
	res, err := cs.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Tools) != len(want) {
		t.Errorf("%d tools, want %d", len(res.Tools), len(want))
	}
	for _, tool := range res.Tools {
		schema, _ := tool.InputSchema.(map[string]any)
		properties, _ := schema["properties"].(map[string]any)
		if got := strings.Join(sorted(properties), ","); got != want[tool.Name] {
			t.Errorf("%s: parameters %q, want %q", tool.Name, got, want[tool.Name])
		}
		if tool.Description == "" {
			t.Errorf("%s has no description", tool.Name)
		}
	}
}

// TestCoreTools checks that what tools/list leaves out is found with search_tools, and called by name and with call_tool.
func TestCoreTools(t *testing.T) {
	w := newFixture(t)
	cs := w.stdio(w.server(), revisions[0], nil)
	res, err := cs.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range res.Tools {
		names = append(names, tool.Name)
	}
	if want := []string{"execute_code", "search_tools", "get_tool_definition", "call_tool"}; !slices.Equal(names, want) {
		t.Errorf("tools/list: %q, want %q", names, want)
	}
	call := func(tool string, args map[string]any) string {
		t.Helper()
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		return res.Content[0].(*mcp.TextContent).Text
	}
	all := call("search_tools", map[string]any{"category": "mcprun"})
	for _, tool := range []string{"save_skill", "restore_pii", "checkpoint", "list_tool_categories"} {
		if !strings.Contains(all, "mcprun__"+tool+": ") {
			t.Errorf("search_tools, category mcprun: no %s in\n%s", tool, all)
		}
	}
	if got := call("search_tools", map[string]any{"category": "mcprun", "query": "workspace_file"}); strings.Count(got, "mcprun__") != 3 {
		t.Errorf("search_tools, workspace_file: %s", got)
	}
	if got := call("search_tools", map[string]any{"category": "mcprun", "query": []string{"personal data", "pii"}}); strings.Count(got, "mcprun__") != 2 {
		t.Errorf("search_tools, two wordings: %s", got)
	}
	if got := call("get_tool_definition", map[string]any{"tool_name": "mcprun__write_workspace_file"}); !strings.Contains(got, `"required":["filename","content"]`) {
		t.Errorf("get_tool_definition: %s", got)
	}
	call("call_tool", map[string]any{"tool": "mcprun__write_workspace_file", "arguments": map[string]any{"filename": "a.txt", "content": "kept"}})
	if got := call("read_workspace_file", map[string]any{"filename": "a.txt"}); got != "kept" {
		t.Errorf("read_workspace_file: %q, want %q", got, "kept")
	}
}

func sorted(m map[string]any) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// TestIndex checks that the index is the same at each start and within its budget.
func TestIndex(t *testing.T) {
	w := newFixture(t)
	whole := description(t, w.server())
	if whole != description(t, w.server()) {
		t.Error("the index differs from start to start")
	}
	for _, word := range []string{"calculator: ", "getDocument", "filesystem: "} {
		if !strings.Contains(whole, word) {
			t.Errorf("the index has no %q:\n%s", word, whole)
		}
	}
	w.opt.Languages = []string{mcpserver.Python}
	if d := description(t, w.server()); !strings.Contains(d, "get_document") {
		t.Errorf("Python: %s", d)
	}
	w.opt.Languages = nil
	bare := 0
	for _, budget := range []int{-1, 1, 40, 60, 100, 200, 400} {
		w.opt.IndexTokens = budget
		d := description(t, w.server())
		if budget < 0 {
			bare = tokens.Count(d)
			continue
		}
		if budget == 100 && !strings.Contains(d, "and no query lists them") {
			t.Errorf("budget %d: the index does not say how to list a server's tools:\n%s", budget, d)
		}
		if n := tokens.Count(d) - bare; n > budget+2 {
			t.Errorf("budget %d: %d tokens", budget, n)
		}
	}
}

// TestIndexOfMany checks that the index counts the servers that do not fit.
func TestIndexOfMany(t *testing.T) {
	cat, lock := &catalog.Catalog{}, &catalog.Lock{Servers: map[string]catalog.LockServer{}}
	for i := range 300 {
		name := "server_" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + string(rune('a'+i/26))
		cat.Servers = append(cat.Servers, catalog.Server{Key: name, Dir: name, Tools: []catalog.Tool{{ID: name + "__go", Name: "go"}}})
		lock.Servers[name] = catalog.LockServer{Tools: map[string]catalog.LockTool{"go": {Names: map[string]catalog.LockNames{"typescript": {Function: "go"}}}}}
	}
	w := newFixture(t)
	w.opt.Catalog, w.opt.Lock = cat, lock
	if d := description(t, w.server()); !strings.Contains(d, "more: list ./servers") {
		t.Errorf("index: %s", d)
	}
}

// TestInstructionsOfMany checks that servers' instructions are shown as far as they fit, and that the others are counted.
func TestInstructionsOfMany(t *testing.T) {
	cat := &catalog.Catalog{}
	for i := range 20 {
		name := "server_" + string(rune('a'+i))
		cat.Servers = append(cat.Servers, catalog.Server{Key: name, Dir: name, Instructions: strings.Repeat("Use it with care. ", 6)})
	}
	for mode, end := range map[mcpserver.Mode]string{mcpserver.ModeAll: " more: get_tool_definition", mcpserver.ModeCode: " more"} {
		w := newFixture(t)
		w.opt.Catalog, w.opt.Lock, w.opt.Mode = cat, nil, mode
		got := w.stdio(w.server(), revisions[0], nil).InitializeResult().Instructions
		if n := tokens.Count(got); n > 120 || n < 85 || !strings.Contains(got, "\nserver_a: Use it") || !strings.HasSuffix(got, end) || strings.Contains(got, "server_t") {
			t.Errorf("%s: %d tokens: %s", mode, n, got)
		}
	}
}

func description(t *testing.T, s *mcpserver.Server) string {
	t.Helper()
	var list struct {
		Tools []struct{ Name, Description string }
	}
	if err := json.Unmarshal(s.Definitions(), &list); err != nil {
		t.Fatal(err)
	}
	return list.Tools[0].Description
}
