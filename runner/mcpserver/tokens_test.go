package mcpserver_test

import (
	"encoding/json"
	"fmt"
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
	for mode, most := range map[mcpserver.Mode]int{mcpserver.ModeAll: 930, mcpserver.ModeCore: 380, mcpserver.ModeCode: 300} {
		w := newFixture(t)
		w.opt.Mode, w.opt.IndexTokens = mode, -1
		n, instructions := w.cost()
		if n > most || instructions != 0 {
			t.Errorf("%s: %d tokens, at most %d are allowed; instructions: %d", mode, n, most, instructions)
		}
		t.Logf("%s: %d tokens", mode, n)
	}
}

// TestWholeCost bounds the tokens with index and instructions, for each choice of languages, also with many talkative servers. 600 is the
// promised bound; at 585, a task of one call costs 5 % more than search-then-call (cmd/internal/eval/proof).
func TestWholeCost(t *testing.T) {
	for _, languages := range [][]string{nil, {mcpserver.TypeScript}, {mcpserver.Python}} {
		for _, servers := range []int{0, 37, 300} {
			w := newFixture(t)
			w.opt.Languages, w.opt.Personal = languages, true
			if servers > 0 {
				w.opt.Catalog, w.opt.Lock = manyServers(servers)
			}
			definitions, instructions := w.cost()
			if definitions+instructions > 585 || instructions == 0 {
				t.Errorf("%v, %d servers: %d tokens of definitions and %d of instructions; at most 585 are allowed", languages, servers, definitions, instructions)
			}
			t.Logf("%v, %d servers: %d + %d tokens", languages, servers, definitions, instructions)
		}
	}
}

// cost counts the tokens that a host shows to a model: name, description and schema of each tool, and the instructions.
func (w *fixture) cost() (definitions, instructions int) {
	w.t.Helper()
	cs := w.stdio(w.server(), revisions[1], nil)
	res, err := cs.ListTools(w.t.Context(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, tool := range res.Tools {
		shown, err := json.Marshal(map[string]any{"name": tool.Name, "description": tool.Description, "input_schema": tool.InputSchema})
		if err != nil {
			w.t.Fatal(err)
		}
		definitions += tokens.Count(string(shown))
	}
	return definitions, tokens.Count(cs.InitializeResult().Instructions)
}

// manyServers returns a catalog of servers with four tools each. Only the third tool of a server is said to be read-only.
func manyServers(n int) (*catalog.Catalog, *catalog.Lock) {
	cat, lock := &catalog.Catalog{}, &catalog.Lock{Servers: map[string]catalog.LockServer{}}
	yes := true
	for i := range n {
		key := fmt.Sprintf("service_%c%c", 'a'+i/26, 'a'+i%26)
		server := catalog.Server{Key: key, Dir: key, Instructions: "This server has the records of a department. " + strings.Repeat("Ask before you change one. ", 5)}
		locked := map[string]catalog.LockTool{}
		for _, name := range []string{"create_record", "delete_record", "get_record", "update_record"} {
			tool := catalog.Tool{ID: key + "__" + name, Name: name}
			if name == "get_record" {
				tool.Hints.ReadOnly = &yes
			}
			verb, _, _ := strings.Cut(name, "_")
			server.Tools = append(server.Tools, tool)
			locked[name] = catalog.LockTool{Names: map[string]catalog.LockNames{"typescript": {Function: verb + "Record"}, "python": {Function: name}}}
		}
		cat.Servers = append(cat.Servers, server)
		lock.Servers[key] = catalog.LockServer{Tools: locked}
	}
	return cat, lock
}

// TestAlwaysLoaded checks which tools ask hosts that defer definitions not to do so.
func TestAlwaysLoaded(t *testing.T) {
	w := newFixture(t)
	w.opt.Mode = mcpserver.ModeAll
	res, err := w.stdio(w.server(), revisions[1], nil).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var always []string
	for _, tool := range res.Tools {
		if tool.Meta["anthropic/alwaysLoad"] == true {
			always = append(always, tool.Name)
		}
	}
	if want := []string{"execute_code", "search_tools"}; !slices.Equal(always, want) {
		t.Errorf("always loaded: %q, want %q", always, want)
	}
}

// TestTools checks the documented names and parameters.
func TestTools(t *testing.T) {
	want := map[string]string{
		"execute_code": "code,context_vars,language,memory_mb,risk,timeout_seconds", "search_tools": "category,detail_level,query",
		"get_tool_definition": "category,tool_name", "list_tool_categories": "query", "call_tool": "arguments,tool",
		"save_skill": "code,description,language,name", "load_skill": "name", "list_skills": "query", "sanitize_pii": "text", "restore_pii": "text",
		"write_workspace_file": "content,filename", "read_workspace_file": "filename", "list_workspace_files": "subpath", "checkpoint": "data,name", "get_execution_stats": "top",
		"fill_form": "data,form,id,submit",
	}
	w := newFixture(t)
	w.opt.Mode, w.opt.Forms = mcpserver.ModeAll, true
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

// TestCoreTools checks that tools that tools/list leaves out can be found with search_tools, and called by name and with call_tool.
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
	if want := []string{"execute_code", "search_tools", "call_tool"}; !slices.Equal(names, want) {
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
		t.Errorf("search_tools, workspace_file: %s, want 3", got)
	}
	if got := call("search_tools", map[string]any{"category": "mcprun", "query": []string{"personal data", "pii"}}); strings.Count(got, "mcprun__") != 2 {
		t.Errorf("search_tools, two wordings: %s, want 2", got)
	}
	if got := call("get_tool_definition", map[string]any{"tool_name": "mcprun__write_workspace_file"}); !strings.Contains(got, `"required":["filename","content"]`) {
		t.Errorf("get_tool_definition: %s, want %q in it", got, `"required":["filename","content"]`)
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
		t.Errorf(`Python: %s, want "get_document" in it`, d)
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
		if n := tokens.Count(d) - bare; n > budget+2 {
			t.Errorf("budget %d: %d tokens, want at most %d", budget, n, budget+2)
		}
	}
}

// TestIndexOfMany checks that the index first names all servers, without numbers, then as many tools as fit; that it counts the servers
// that do not fit; and that the example is a tool that only reads.
func TestIndexOfMany(t *testing.T) {
	for _, c := range []struct {
		servers, budget int
		want            string
		tools           int // servers whose tools are named
	}{
		{4, 120, "\nServers and tools:\nservice_aa: createRecord deleteRecord getRecord updateRecord\n", 4},
		{4, 50, "\nServers: service_aa, service_ab, service_ac, service_ad\nTools:\nservice_aa: createRecord deleteRecord getRecord updateRecord\n", 2},
		{37, 220, ", service_bj, service_bk\nTools:\nservice_aa: createRecord", 7},
		{300, 120, " more: list ./servers", 0},
	} {
		w := newFixture(t)
		w.opt.Catalog, w.opt.Lock = manyServers(c.servers)
		w.opt.IndexTokens = c.budget
		d := description(t, w.server())
		if got := strings.Count(d, ": createRecord"); !strings.Contains(d, c.want) || got != c.tools {
			t.Errorf("%d servers, %d tokens: tools of %d, want %d and %q:\n%s", c.servers, c.budget, got, c.tools, c.want, d)
		}
		if !strings.Contains(d, "await getRecord(") || !strings.Contains(d, "; get_record(") {
			t.Errorf("the example is not the tool that only reads, want \"await getRecord(\" in it and \"; get_record(\" in it:\n%s", d)
		}
	}
}

// TestInstructionsOfMany checks that as many servers' instructions as fit are shown, and that the others are counted.
func TestInstructionsOfMany(t *testing.T) {
	cat := &catalog.Catalog{}
	for i := range 20 {
		name := "server_" + string(rune('a'+i))
		cat.Servers = append(cat.Servers, catalog.Server{Key: name, Dir: name, Instructions: strings.Repeat("Use it with care. ", 6)})
	}
	const end = " more: search_tools, detail_level full"
	for _, mode := range []mcpserver.Mode{mcpserver.ModeAll, mcpserver.ModeCode} {
		w := newFixture(t)
		w.opt.Catalog, w.opt.Lock, w.opt.Mode = cat, nil, mode
		got := w.stdio(w.server(), revisions[0], nil).InitializeResult().Instructions
		if n := tokens.Count(got); n > 80 || n < 50 || !strings.Contains(got, "\nserver_a: Use it") || !strings.HasSuffix(got, end) || strings.Contains(got, "server_t") {
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
