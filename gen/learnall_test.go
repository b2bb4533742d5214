package gen

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/learn"
)

// seenBy returns shapes of replies of a server's tools, each with the digest in the tree.
func (p *project) seenBy(replies map[string][]string) []learn.Proposal {
	p.t.Helper()
	tree, err := Open(Options{Dir: p.dir})
	if err != nil {
		p.t.Fatal(err)
	}
	traffic := learn.NewTraffic()
	for name, all := range replies {
		found, err := tree.Find(name)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, reply := range all {
			o := &learn.Observation{Tool: learn.Tool{Server: found.Server.Key, Name: found.Tool.Name}, Digest: found.Tool.Digest, Reply: learn.Reply{Value: json.RawMessage(reply), Text: true}}
			if err := traffic.Observe(o); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	return traffic.Proposals()
}

func TestLearnFromRuns(t *testing.T) {
	p := newProject(t, map[string][]string{"s": {tool("get", "Gets."), tool("few", "Few."), tool("never", "Never."), tool("both", "Both.")}})
	p.mustSync(nil)
	thrice := func(reply string) []string { return []string{reply, reply, reply} }
	seen := map[string][]string{
		"get": thrice(`{"id":1,"title":"x","status":"y"}`), "few": {`"x"`},
		"both": thrice(`{"total":1,"count":2,"ada@example.org":3,"bob@example.org":4}`),
	}
	before := p.files()
	r, err := LearnFromRuns(t.Context(), Options{Dir: p.dir}, p.seenBy(seen), nil)
	if err != nil {
		t.Fatal(err)
	}
	if after := p.files(); !equalFiles(before, after) {
		t.Error("something was written before Write")
	}
	if diff := string(r.Diff()); !strings.Contains(diff, "+export type GetOutput = ") || strings.Contains(diff, ".py") || strings.Contains(diff, "index") {
		t.Errorf(`diff %s, want "+export type GetOutput = " in it, no ".py" in it and no "index" in it`, diff)
	}
	if err = r.Write(t.Context()); err != nil || len(r.Changed()) != 2 || !r.Sync.Written || len(r.Sync.Warnings) > 0 {
		t.Fatalf("%+v %v", r, err)
	}
	for _, l := range r.Tools {
		want := map[string]string{"s__few": "runs have seen fewer than 3 replies", "s__never": "no run has called it"}[l.Tool]
		if l.Skipped != want {
			t.Errorf("%s is skipped because %q, want %q", l.Tool, l.Skipped, want)
		}
	}
	// Members beside a type for all others are accepted by the reader of generated files, in both languages.
	for name, text := range map[string]string{"servers/s/both.ts": "total: number", "servers/s/both.py": "total: int"} {
		if got := contents(p.files())[name]; !strings.Contains(got, text) || !strings.Contains(got, "BothOutput") || strings.Contains(got, "example.org") {
			t.Errorf(`%s: %s, want %q in it, "BothOutput" in it and no "example.org" in it`, name, got, text)
		}
	}
	if r, err = LearnFromRuns(t.Context(), Options{Dir: p.dir}, p.seenBy(seen), nil); err != nil || len(r.Changed()) != 0 || r.Sync != nil {
		t.Errorf("a second time: %+v %v", r, err)
	}
	// A changed tool does not get a type from replies of the previous one.
	shapes := p.seenBy(seen)
	p.tools["s"][0] = tool("get", "Gets something else.")
	p.mustSync(nil)
	if r, err = LearnFromRuns(t.Context(), Options{Dir: p.dir}, shapes, []string{"get"}); err != nil || len(r.Tools) != 1 || r.Tools[0].Skipped != "it has changed since runs called it" {
		t.Errorf(`of a changed tool: %+v %v, want len(r.Tools) 1, r.Tools[0].Skipped "it has changed since runs called it" and no error`, r, err)
	}
}

func TestKnownArguments(t *testing.T) {
	for _, c := range [][3]string{
		{`{"type":"object"}`, `{}`, ""},
		{`{"required":["a","b","c","d"],"properties":{"a":{"const":1},"b":{"enum":["x"]},"c":{"default":null},"d":{"examples":[[1],2]},"e":{"default":1}}}`, `{"a":1,"b":"x","c":null,"d":[1]}`, ""},
		{`{"required":["a","b"],"properties":{"a":{"enum":["x","y"]}}}`, `{}`, "a b"},
		{`{"required":["a"],"properties":{"a":true}}`, `{}`, "a"},
	} {
		args, unknown := knownArguments(json.RawMessage(c[0]))
		if string(args) != c[1] || strings.Join(unknown, " ") != c[2] {
			t.Errorf("knownArguments(%s) = %s, %q, want %v and %v", c[0], args, unknown, c[1], c[2])
		}
	}
}
