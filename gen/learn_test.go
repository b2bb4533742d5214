package gen

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

// learned calls Learn on the project's tree.
func (p *project) learn(how LearnOptions) (*LearnReport, error) {
	return Learn(p.t.Context(), Options{Dir: p.dir}, UpstreamOptions{}, how)
}

func replies(texts ...string) []json.RawMessage {
	var out []json.RawMessage
	for _, text := range texts {
		out = append(out, json.RawMessage(text))
	}
	return out
}

func TestLearnJoinsWhatItKnows(t *testing.T) {
	p := newProject(t, map[string][]string{"s": {tool("get", "Gets.")}})
	p.mustSync(nil)
	before := p.files()
	if r, err := p.learn(LearnOptions{Tool: "get", Replies: replies(`{"a":1}`), Check: true}); err != nil || r.Sync.Written || r.Before != nil || r.After.Replies != 1 {
		t.Fatalf("%+v %v", r, err)
	}
	if after := p.files(); !equalFiles(before, after) {
		t.Fatal("a check wrote something")
	}
	if _, err := p.learn(LearnOptions{Tool: "s__get", Replies: replies(`{"a":1,"b":"x"}`)}); err != nil {
		t.Fatal(err)
	}
	r, err := p.learn(LearnOptions{Tool: "s/get", Replies: replies(`{"a":1.5}`, `{"content":[],"isError":true}`)})
	if err != nil || r.Failed != 1 || r.Before.Replies != 1 || r.After.Replies != 2 || r.After.JSON {
		t.Fatalf("%+v %v", r, err)
	}
	const want = `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"string"}},"required":["a"]}`
	if string(r.After.Schema) != want {
		t.Errorf("got  %s\nwant %s", r.After.Schema, want)
	}
	for _, offline := range []bool{false, true} {
		if r := p.mustSync(func(o *Options) { o.Check, o.Offline = true, offline }); len(r.Files) > 0 || len(r.Warnings) > 0 {
			t.Errorf("offline %v: %v %v, want len(r.Files) at most 0 and len(r.Warnings) at most 0", offline, r.Files, r.Warnings)
		}
	}
	recording := []string{`{"mcprun":"recording","version":1}`, `{"call":1,"tool":"s__get","args":{},"ms":1,"value":{"a":1}}`}
	if r, err := p.learn(LearnOptions{Tool: "get", Replies: replies(recording...), Check: true}); err != nil || string(r.After.Schema) != want || r.After.Replies != 3 {
		t.Errorf("of a recording: %+v %v, want string(r.After.Schema) %v, After.Replies 3 and no error", r, err, want)
	}
	for calls, problem := range []string{"no call of it was recorded", "the call of it that was recorded got no answer", "none of the 2 calls of it that were recorded got an answer"} {
		lines := slices.Repeat([]string{`{"call":1,"tool":"s__get","args":{},"ms":1,"error":{"kind":"timeout","message":"no"}}`}, calls)
		if _, err := p.learn(LearnOptions{Tool: "get", Replies: replies(append(recording[:1:1], lines...)...)}); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("of %d calls that were not answered: %v, want an error and %v in it", calls, err, problem)
		}
	}
	ofText := strings.TrimSuffix(recording[1], "}") + `,"text":true}`
	if r, err := p.learn(LearnOptions{Tool: "get", Replies: replies(ofText), Forget: true, Check: true}); err != nil || !r.After.JSON || r.After.Replies != 1 {
		t.Errorf("of a recording of JSON in a text: %+v %v", r, err)
	}
	masked := `{"call":1,"tool":"s__get","args":{},"ms":1,"value":{"phone":"[PHONE_1]"}}`
	if r, err := p.learn(LearnOptions{Tool: "get", Replies: replies(masked, `{"phone":1}`), Forget: true, Check: true}); err != nil || !strings.Contains(string(r.After.Schema), `"phone":{}`) {
		t.Errorf("of what was masked: %+v %v, want %q in it and no error", r, err, `"phone":{}`)
	}
	if r, err = p.learn(LearnOptions{Tool: "get", Forget: true}); err != nil || r.Before == nil || r.After != nil {
		t.Fatalf("%+v %v", r, err)
	}
	if after := p.files(); !equalFiles(before, after) {
		t.Error("forgetting does not bring back what was")
	}
}

// equalFiles compares contents; p.files has times too.
func equalFiles(a, b map[string]string) bool {
	x, y := contents(a), contents(b)
	if len(x) != len(y) {
		return false
	}
	for name, text := range x {
		if y[name] != text {
			return false
		}
	}
	return true
}

func TestLearnOfADeclaredOutput(t *testing.T) {
	p := newProject(t, map[string][]string{"s": {tool("get", "Gets.")}})
	p.mustSync(nil)
	if _, err := p.learn(LearnOptions{Tool: "get", Replies: replies(`{"a":1}`)}); err != nil {
		t.Fatal(err)
	}
	p.tools["s"] = []string{strings.TrimSuffix(tool("get", "Gets."), "}") + `,"outputSchema":{"type":"object"}}`}
	p.mustSync(nil)
	for name := range p.files() {
		if strings.Contains(name, "learned") {
			t.Errorf(`%s is kept, want no "learned" in it`, name)
		}
	}
	_, err := p.learn(LearnOptions{Tool: "get", Replies: replies(`{"a":1}`)})
	if bad, ok := errors.AsType[*Error](err); !ok || !strings.Contains(bad.Error(), "declares") {
		t.Errorf("%v", err)
	}
	tree, err := Open(Options{Dir: p.dir})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := tree.Learnable(); err != nil || len(list) != 0 {
		t.Errorf("%v %v, want len(list) 0 and no error", list, err)
	}
}

// A call has a time-out. A server that does not answer, goes away or refuses counts as one that could not be asked.
func TestLearnOfAServerThatDoesNotAnswer(t *testing.T) {
	var tools []string
	for _, name := range []string{upstreamtest.ToolHang, upstreamtest.ToolCrash, upstreamtest.ToolRPCError, upstreamtest.ToolBigInt} {
		tools = append(tools, `{"name":"`+name+`","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`)
	}
	p := newProject(t, map[string][]string{"s": tools})
	p.mustSync(nil)
	p.write(".mcp.json", `{"mcpServers":{"s":{"type":"http","url":"`+upstreamtest.HTTPServer(t, upstreamtest.Normal, nil).URL+`"}}}`)
	p.write("mcpgen.yaml", "version: 1\nservers:\n  s:\n    timeout: 300ms\n")
	for _, name := range []string{upstreamtest.ToolHang, upstreamtest.ToolCrash, upstreamtest.ToolRPCError} {
		_, err := p.learn(LearnOptions{Tool: name, Calls: replies(`{}`)})
		if asked, ok := errors.AsType[*Error](err); !ok || asked.ExitCode() != 3 {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := p.learn(LearnOptions{Tool: upstreamtest.ToolHang, Calls: replies(`{}`)})
	if err == nil || !strings.Contains(err.Error(), `server "s" did not answer within 300ms`) {
		t.Errorf("%v, want an error and %q in it", err, `server "s" did not answer within 300ms`)
	}
	if r, err := p.learn(LearnOptions{Tool: upstreamtest.ToolBigInt, Calls: replies(`{}`)}); err != nil || !strings.Contains(string(r.After.Schema), `"n":{"type":"integer"}`) {
		t.Errorf("%v, want %q in it and no error", err, `"n":{"type":"integer"}`)
	}
}

func TestCostInTheLanguagesOfTheTree(t *testing.T) {
	p := newProject(t, map[string][]string{"a": {tool("one", "One."), tool("two", "Two.")}, "b": {tool("one", "One.")}})
	p.mustSync(nil)
	cost := func(language string) (*Cost, error) {
		tree, err := Open(Options{Dir: p.dir})
		if err != nil {
			t.Fatal(err)
		}
		return tree.Cost(language)
	}
	c, err := cost("")
	if err != nil || c.Language != "typescript" || len(c.Servers) != 2 || len(c.Servers[0].Tools) != 2 {
		t.Fatalf(`%+v %v, want Language "typescript", len(c.Servers) 2, len(c.Servers[0].Tools) 2 and no error`, c, err)
	}
	sum := c.All.Wrapper
	definitions := 0
	for _, s := range c.Servers {
		if s.List == 0 || s.Index == 0 || s.Wrapper == 0 || s.Definitions == 0 || s.Read != s.List+s.Index+s.Wrapper {
			t.Errorf("%+v", s)
		}
		sum += s.List + s.Index
		definitions += s.Definitions
	}
	if c.All.Read <= sum || c.All.Definitions != definitions { // includes the listing of the root
		t.Errorf("%+v, want All.Read more than %v and All.Definitions %v", c.All, sum, definitions)
	}
	p.write("mcpgen.yaml", "version: 1\nlanguages: [python]\n")
	p.mustSync(nil)
	if c, err = cost(""); err != nil || c.Language != "python" {
		t.Errorf(`%+v %v, want Language "python" and no error`, c, err)
	}
	_, err = cost("typescript")
	if bad, ok := errors.AsType[*Error](err); !ok || !strings.Contains(bad.Message, "only in python") {
		t.Errorf("%v", err)
	}
}

// What no reply has shown can be used as anything by scripts and their checkers, like the result of a tool without a type.
func TestLearnedTypesSayNoMoreThanTheReplies(t *testing.T) {
	p := newProject(t, map[string][]string{"s": {tool("get", "Gets."), tool("none", "None.")}})
	p.mustSync(nil)
	for name, reply := range map[string][]string{
		"get":  {`{"next":null,"rows":[],"more":{},"at":null,"deep":[{"next":null}]}`, `{"next":null,"rows":[],"more":{},"at":"x","deep":[{"next":null}]}`},
		"none": {`null`, `null`},
	} {
		if r, err := p.learn(LearnOptions{Tool: name, Replies: replies(reply...)}); err != nil || len(r.Sync.Warnings) > 0 {
			t.Error(r.Sync.Warnings)
			t.Fatal(err)
		}
	}
	files := contents(p.files())
	for name, want := range map[string][]string{
		"servers/s/get.ts":  {"next: any", "rows: any[]", "more: Record<string, any>", "at: string | null", "deep: { next: any }[]"},
		"servers/s/get.py":  {"next: Any", "rows: list[Any]", "more: dict[str, Any]", "at: str | None"},
		"servers/s/none.ts": {"<AnyUndeclared>"},
	} {
		for _, text := range want {
			if !strings.Contains(files[name], text) {
				t.Errorf("%s lacks %q:\n%s", name, text, files[name])
			}
		}
	}
	if r := p.mustSync(func(o *Options) { o.Check, o.Offline = true, true }); len(r.Files) > 0 || len(r.Warnings) > 0 {
		t.Errorf("%v %v, want len(r.Files) at most 0 and len(r.Warnings) at most 0", r.Files, r.Warnings)
	}
}
