package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
)

// passing returns a fixture that passes through the tools of a server named desk. raw is the result of each call.
func passing(t *testing.T, raw *string, tools ...string) *fixture {
	t.Helper()
	w := newFixture(t)
	w.opt.Mode = mcpserver.ModePassthrough
	w.opt.Project = mcpserver.Project{Catalog: catalogOf(t, tools...)}
	w.opt.Call = func(_ context.Context, job *mcpserver.CallJob) (*mcpserver.CallAnswer, error) {
		if _, _, ok := w.opt.Catalog.Lookup(job.Tool); !ok {
			return &mcpserver.CallAnswer{Failed: true, Message: "unknown tool " + job.Tool}, nil
		}
		return &mcpserver.CallAnswer{Raw: json.RawMessage(*raw), Warnings: []string{"it is old"}}, nil
	}
	return w
}

// TestPassthroughError checks that code gets the error of JSON-RPC with which a tool's server answered.
func TestPassthroughError(t *testing.T) {
	w := passing(t, new(string), `{"name":"get_note","inputSchema":{"type":"object"}}`)
	w.opt.Call = func(context.Context, *mcpserver.CallJob) (*mcpserver.CallAnswer, error) {
		return &mcpserver.CallAnswer{Failed: true, Message: "desk__get_note: the desk is gone", Code: -32050}, nil
	}
	_, err := w.stdio(w.server(), revisions[1], nil).CallTool(t.Context(), &mcp.CallToolParams{Name: "desk__get_note"})
	if bad, ok := errors.AsType[*jsonrpc.Error](err); !ok || bad.Code != -32050 || bad.Message != "desk__get_note: the desk is gone" {
		t.Errorf("CallTool() = %v, want the server's error", err)
	}
}

func catalogOf(t *testing.T, tools ...string) *catalog.Catalog {
	t.Helper()
	var raw []json.RawMessage
	for _, tool := range tools {
		raw = append(raw, json.RawMessage(tool))
	}
	server, _ := catalog.NewServer("desk", "", "It has notes.", raw)
	cat, err := catalog.New([]catalog.Server{server})
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// TestPassthroughList checks which tools of the tree are listed, in each revision: without invisible text, with ids as names, and with
// schemas that clients accept.
func TestPassthroughList(t *testing.T) {
	long := strings.Repeat("very_", 20) + "long"
	tools := []string{
		`{"name":"getNote","title":"Get\u202e a note","description":"Gets \u200ba\nnote.","inputSchema":{"type":"object","properties":{"z":{"type":"string","description":"first\u2060"},"a":{"type":"integer"}},"required":["z"]},
			"outputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},"annotations":{"readOnlyHint":true,"destructiveHint":false}}`,
		`{"name":"odd","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":7},"b":{"maximum":1e999}},"required":"a"},"outputSchema":{"$ref":"https://example.com/s"}}`,
		`{"name":"list","inputSchema":{"type":"object"}}`,
		`{"name":"` + long + `one","inputSchema":{"type":"object"}}`,
		`{"name":"` + long + `two","inputSchema":{"type":"object"}}`,
	}
	for _, revision := range revisions {
		raw := `{"content":[{"type":"text","text":"fine"}]}`
		w := passing(t, &raw, tools...)
		w.opt.Learned = map[string]catalog.Learned{
			"desk__list":     {Replies: 1, JSON: true, Schema: json.RawMessage(`{"type":"array","items":{"type":"string"}}`)},
			"desk__get_note": {Replies: 4, Schema: json.RawMessage(`{"type":"object","properties":{"other":{}}}`)}, // a declared schema takes precedence
		}
		cs := w.stdio(w.server(), revision, nil)
		res, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		byName := map[string]*mcp.Tool{}
		for _, tool := range res.Tools {
			names = append(names, tool.Name)
			byName[tool.Name] = tool
			if len(tool.Name) > 64 || !toolName.MatchString(tool.Name) {
				t.Errorf("the name %q has %d characters", tool.Name, len(tool.Name))
			}
			if id, _ := tool.Meta["com.github.mcpgen/id"].(string); (id != "") != strings.Contains(tool.Name, "very") {
				t.Errorf("%s: id %q", tool.Name, id)
			}
		}
		if want := []string{"desk__get_note", "desk__list", "desk__odd"}; len(names) != 5 || !slices.Equal(names[:3], want) || names[3] == names[4] {
			t.Fatalf("%s: the tools are %q; want %q and two more", revision, names, want)
		}
		got, err := json.Marshal(byName["desk__get_note"])
		if err != nil {
			t.Fatal(err)
		}
		const want = `{"annotations":{"destructiveHint":false,"idempotentHint":false,"readOnlyHint":true},"description":"Gets a\nnote.","inputSchema":{"properties":{"a":{"type":"integer"},"z":{"description":"first","type":"string"}},"required":["z"],"type":"object"},"name":"desk__get_note",` +
			`"outputSchema":{"anyOf":[{"properties":{"text":{"type":"string"}},"required":["text"],"type":"object"},{"type":"object"}],"type":"object"},"title":"Get a note"}`
		if diff := cmp.Diff(decoded(t, want), decoded(t, string(got))); diff != "" {
			t.Error(diff)
		}
		if byName["desk__odd"].OutputSchema != nil {
			t.Errorf("an output schema that leads elsewhere is listed: %v, want nil", byName["desk__odd"].OutputSchema)
		}
		learned, err := json.Marshal(byName["desk__list"].OutputSchema)
		if err != nil || !strings.Contains(string(learned), "learned from 1 reply;") || !strings.Contains(string(learned), `"result":{"items":{"type":"string"},"type":"array"}`) {
			t.Errorf(`the learned shape is listed as %s, %v, want "learned from 1 reply;" in it, %q in it and no error`, learned, err, `"result":{"items":{"type":"string"},"type":"array"}`)
		}
		if said := cs.InitializeResult().Instructions; !strings.Contains(said, "It has notes.") || strings.Contains(said, "search_tools") {
			t.Errorf(`instructions %q, want "It has notes." in it and no "search_tools" in it`, said)
		}
		for _, name := range []string{names[3], byName[names[3]].Meta["com.github.mcpgen/id"].(string)} {
			if res := call(t, cs, name, nil); res.IsError || !strings.HasPrefix(textOf(res), "fine") {
				t.Errorf("%s: %s", name, textOf(res))
			}
		}
	}
}

func decoded(t *testing.T, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}

// TestPassthroughResult checks that a result arrives as the server sent it, and that a tool with an output schema always returns structured
// content that fits the schema.
func TestPassthroughResult(t *testing.T) {
	const shape = `{"type":"object","properties":{"rows":{"type":"array"}},"required":["rows"],"additionalProperties":false}`
	block := func(text string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, text) }
	for _, c := range []struct{ name, raw, content, described, plain string }{
		{"as declared", `{"content":[` + block(`{"rows":[9007199254740993]}`) + `],"structuredContent":{"rows":[9007199254740993]}}`, block(`{"rows":[9007199254740993]}`), `{"rows":[9007199254740993]}`, `{"rows":[9007199254740993]}`},
		{"another shape", `{"content":[],"structuredContent":{"cols":1}}`, block(`{"cols":1}`), `{"cols":1}`, `{"cols":1}`},
		{"a list", `{"content":[` + block(`two`) + `],"structuredContent":[1,9007199254740993]}`, block(`two`), `{"result":[1,9007199254740993]}`, `{"result":[1,9007199254740993]}`},
		{"a number", `{"content":[],"structuredContent":7}`, block(`7`), `{"result":7}`, `{"result":7}`},
		{"annotations that clients refuse", `{"content":[{"type":"text","text":"a","annotations":{"audience":["robot"]}},{"type":"text","text":"b","annotations":{"priority":"high"}},{"type":"text","text":"c","annotations":{"lastModified":"today"}},{"type":"text","text":"d","annotations":{"priority":2}}]}`,
			block("a") + "," + block("b") + "," + block("c") + "," + block("d"), `{"result":"a\nb\nc\nd"}`, ``},
		{"annotations", `{"content":[{"type":"text","text":"a","annotations":{"audience":["user"],"priority":0.5,"lastModified":"2026-01-02T03:04:05Z"}}]}`,
			`{"type":"text","text":"a","annotations":{"audience":["user"],"priority":0.5,"lastModified":"2026-01-02T03:04:05Z"}}`, `{"result":"a"}`, ``},
		{"JSON in a text", `{"content":[` + block(` {"rows":[]}`) + `]}`, block(` {"rows":[]}`), `{"rows":[]}`, ``},
		{"a list in a text", `{"content":[` + block(`[1]`) + `]}`, block(`[1]`), `{"result":[1]}`, ``},
		{"a text", `{"content":[` + block(`none`) + `]}`, block(`none`), `{"result":"none"}`, ``},
		{"two texts", `{"content":[` + block(`{"a":1}`) + `,` + block(`{"b":2}`) + `]}`, block(`{"a":1}`) + "," + block(`{"b":2}`), `{"result":"{\"a\":1}\n{\"b\":2}"}`, ``},
		{"an image", `{"content":[{"type":"image","mimeType":"image/png","data":"AAAA"}]}`, `{"type":"image","mimeType":"image/png","data":"AAAA"}`, `{"result":""}`, ``},
		{"an unknown block", `{"content":[{"type":"hologram"}],"structuredContent":null}`, block("[a block of 19 bytes, of an unknown type, is left out]"), `{"result":"[a block of 19 bytes, of an unknown type, is left out]"}`, ``},
		{"a failure", `{"content":[` + block(`no`) + `],"isError":true}`, block(`no`), `{"success":false,"error":"no"}`, `{"success":false,"error":"no"}`},
	} {
		raw := c.raw
		w := passing(t, &raw, `{"name":"described","inputSchema":{"type":"object"},"outputSchema":`+shape+`}`, `{"name":"plain","inputSchema":{"type":"object"}}`)
		cs := w.stdio(w.server(), revisions[0], nil)
		list, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{c.described, c.plain} {
			tool := list.Tools[i]
			wire, err := json.Marshal(call(t, cs, tool.Name, nil))
			var got struct {
				Content    []json.RawMessage
				Structured json.RawMessage `json:"structuredContent"`
				IsError    bool
			}
			if err == nil {
				err = json.Unmarshal(wire, &got)
			}
			if err != nil {
				t.Fatal(err)
			}
			wantContent := "[" + c.content + "," + block("warning: it is old") + "]"
			content, _ := json.Marshal(got.Content)
			if diff := cmp.Diff(decoded(t, wantContent), decoded(t, string(content))); diff != "" {
				t.Errorf("%s: %s: content:\n%s", c.name, tool.Name, diff)
			}
			if want == "" && got.Structured != nil || want != "" && cmp.Diff(decoded(t, want), decoded(t, string(got.Structured))) != "" {
				t.Errorf("%s: %s: structured content %s, want %s", c.name, tool.Name, got.Structured, want)
			}
			if tool.OutputSchema == nil || got.IsError {
				continue
			}
			schema, err := json.Marshal(tool.OutputSchema)
			if err != nil {
				t.Fatal(err)
			}
			v, err := validate.Compile(schema)
			if err == nil {
				err = v.Validate(got.Structured)
			}
			if err != nil {
				t.Errorf("%s: %s: a client refuses the result: %v", c.name, tool.Name, err)
			}
		}
		if len(w.logs) != 2 || w.logs[0].Run.Calls[0].Tool != "desk__described" {
			t.Errorf(`%s: log %+v, want len(w.logs) 2 and w.logs[0].Run.Calls[0].Tool "desk__described"`, c.name, w.logs)
		}
	}
}

// TestPassthroughLarge checks that code gets more than a model does, and an error if the result exceeds what clients read as one message.
func TestPassthroughLarge(t *testing.T) {
	for size, whole := range map[int]bool{1 << 20: true, 11 << 20: false} {
		raw := `{"content":[{"type":"text","text":"` + strings.Repeat("x", size) + `"}],"structuredContent":{"total":1}}`
		w := passing(t, &raw, `{"name":"big","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"total":{}}}}`)
		files := t.TempDir()
		customer := w.opt.Customer
		w.opt.Customer = func(ctx context.Context, id string) (*mcpserver.Customer, error) {
			c, err := customer(ctx, id)
			c.Files = files
			return c, err
		}
		res := call(t, w.stdio(w.server(), revisions[0], nil), "desk__big", nil)
		text := textOf(res)
		if got := strings.Count(text, "x") >= size; got != whole || res.IsError == whole || (structured(t, res, "total") != nil) != whole {
			t.Errorf("%d bytes: got all of it: %v, error: %v; the end is %q", size, got, res.IsError, text[max(0, len(text)-200):])
		}
		if want := fmt.Sprintf("desk__big: the call was made; its result of %d bytes is not passed on", len(raw)); !whole && !strings.HasPrefix(text, want) {
			t.Errorf("%d bytes: %.200s; want %s", size, text, want)
		}
		if kept, err := os.ReadDir(files); err != nil || len(kept) > 0 {
			t.Errorf("%d bytes: files of the workspace: %v, %v, want len(kept) at most 0 and no error", size, kept, err)
		}
		if calls := w.logs[0].Run.Calls; (calls[0].Outcome == "ok") != whole {
			t.Errorf("%d bytes: log %+v", size, calls)
		}
	}
}

// TestPassthroughFollowsTree checks that tools appear, change and disappear with the tree, that clients are notified, and that nothing else
// can be called.
func TestPassthroughFollowsTree(t *testing.T) {
	raw := `{"content":[{"type":"text","text":"fine"}]}`
	w := passing(t, &raw, `{"name":"a","inputSchema":{"type":"object"}}`, `{"name":"b","inputSchema":{"type":"object"}}`)
	var now atomic.Pointer[mcpserver.Project]
	now.Store(&w.opt.Project)
	w.opt.Reload = func(context.Context) (*mcpserver.Project, error) { return now.Load(), nil }
	changed := make(chan struct{}, 10)
	s := w.server()
	cs := w.stdio(s, revisions[0], &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} }})
	list := func() (got []string) {
		t.Helper()
		res, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range res.Tools {
			got = append(got, tool.Name+tool.Description)
		}
		return got
	}
	if got := list(); !slices.Equal(got, []string{"desk__a", "desk__b"}) {
		t.Fatalf("the tools are %q", got)
	}
	next := &mcpserver.Project{Catalog: catalogOf(t, `{"name":"b","description":" is new","inputSchema":{"type":"object"}}`, `{"name":"c","inputSchema":{"type":"object"}}`)}
	now.Store(next)
	w.opt.Catalog = next.Catalog
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	case <-time.After(20 * time.Second):
		t.Fatal("the client was not told that the tools changed")
	}
	if got := list(); !slices.Equal(got, []string{"desk__b is new", "desk__c"}) {
		t.Errorf("after the change the tools are %q", got)
	}
	denying := *next
	denying.Denied = func(customer string) map[string]bool { return map[string]bool{"desk__c": customer == "acme"} }
	now.Store(&denying)
	for len(changed) > 0 {
		<-changed
	}
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	case <-time.After(20 * time.Second):
		t.Fatal("the client was not told that the policy denies a tool")
	}
	if got := list(); !slices.Equal(got, []string{"desk__b is new"}) {
		t.Errorf("with a tool that the policy denies, the tools are %q", got)
	}
	if res := call(t, cs, "desk__c", nil); !strings.HasPrefix(textOf(res), "fine") {
		t.Errorf(`a tool that is not listed cannot be called: %s, want "fine" at its start`, textOf(res))
	}
	for _, name := range []string{"execute_code", "call_tool", "desk__x", "mcprun.other"} {
		if res := call(t, cs, name, map[string]any{"code": "1", "tool": "desk__b"}); !res.IsError || !strings.HasPrefix(textOf(res), "unknown tool ") {
			t.Errorf("%s: %s", name, textOf(res))
		}
	}
	if len(w.jobs) > 0 {
		t.Errorf("%d scripts were run, want at most 0", len(w.jobs))
	}
	if resources, err := cs.ListResources(t.Context(), nil); err == nil && len(resources.Resources) > 0 {
		t.Errorf("skills are offered: %+v", resources.Resources)
	}
}

// TestPassthroughManyCalls checks that code may start many calls at once, as a script may.
func TestPassthroughManyCalls(t *testing.T) {
	raw := `{"content":[{"type":"text","text":"fine"}]}`
	w := passing(t, &raw, `{"name":"a","inputSchema":{"type":"object"}}`)
	answer := w.opt.Call
	w.opt.Call = func(ctx context.Context, job *mcpserver.CallJob) (*mcpserver.CallAnswer, error) {
		time.Sleep(time.Millisecond)
		return answer(ctx, job)
	}
	cs := w.stdio(w.server(), revisions[0], nil)
	var work sync.WaitGroup
	for range 500 {
		work.Go(func() {
			if res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "desk__a"}); err != nil || res.IsError {
				t.Errorf("a call among many: %v, %v", res, err)
			}
		})
	}
	work.Wait()
}
