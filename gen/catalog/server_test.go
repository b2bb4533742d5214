package catalog

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func raws(texts ...string) []json.RawMessage {
	out := make([]json.RawMessage, len(texts))
	for i, t := range texts {
		out[i] = json.RawMessage(t)
	}
	return out
}

func TestNewServerOddDefinitions(t *testing.T) {
	deep := strings.Repeat(`{"a":`, MaxDepth+1) + "1" + strings.Repeat("}", MaxDepth+1)
	tests := []struct {
		name    string
		tools   []json.RawMessage
		want    []string // names that stay
		warning string   // part of the only warning, "" for none
		dropped bool
	}{
		{"plain", raws(`{"name":"a","inputSchema":{"type":"object"}}`), []string{"a"}, "", false},
		{"null", raws(`null`, `{"name":"a","inputSchema":{}}`), []string{"a"}, "must be an object, not null", true},
		{"text", raws(`"a"`), nil, "must be an object, not a string", true},
		{"empty raw", raws(``), nil, "must be an object, not nothing", true},
		{"broken", raws(`{"name":`), nil, "must be an object", true},
		{"no name", raws(`{"inputSchema":{}}`), nil, "has no name", true},
		{"null name", raws(`{"name":null,"inputSchema":{}}`), nil, "has no name", true},
		{"number name", raws(`{"name":1,"inputSchema":{}}`), nil, "must be a string, not a number", true},
		{"empty name", raws(`{"name":"","inputSchema":{}}`), []string{""}, "name is empty", false},
		{"other case is another key", raws(`{"Name":"a","inputSchema":{}}`), nil, "has no name", true},
		{"long name", raws(`{"name":"` + strings.Repeat("x", 5_000_000) + `","inputSchema":{}}`), []string{strings.Repeat("x", 5_000_000)}, "", false},
		{"duplicate", raws(`{"name":"a","inputSchema":{},"title":"1"}`, `{"name":"a","inputSchema":{},"title":"2"}`), []string{"a"}, `a second tool is called "a"`, true},
		{"no schema", raws(`{"name":"a"}`), []string{"a"}, "not nothing", false},
		{"null schema", raws(`{"name":"a","inputSchema":null}`), []string{"a"}, "not null", false},
		{"boolean schema", raws(`{"name":"a","inputSchema":true}`), []string{"a"}, "not a boolean", false},
		{"number description", raws(`{"name":"a","description":5,"inputSchema":{}}`), []string{"a"}, "description must be a string", false},
		{"array annotations", raws(`{"name":"a","annotations":[],"inputSchema":{}}`), []string{"a"}, "annotations must be an object", false},
		{"text hint", raws(`{"name":"a","annotations":{"readOnlyHint":"true"},"inputSchema":{}}`), []string{"a"}, "hint must be a boolean", false},
		{"deep", raws(`{"name":"a","inputSchema":` + deep + `}`), nil, "nested more than", true},
		{"bad UTF-8", raws("{\"name\":\"a\xff\",\"inputSchema\":{}}"), []string{"a\uFFFD"}, "not valid UTF-8", false},
		{"huge", raws(`{"name":"a","description":"` + strings.Repeat("x", MaxDefinitionBytes) + `"}`), nil, "the limit is", true},
		{"5 MB description", raws(`{"name":"a","inputSchema":{},"description":"` + strings.Repeat("x", 5<<20) + `"}`), []string{"a"}, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, warnings := NewServer("srv", "", "", tt.tools)
			var names []string
			for _, tool := range s.Tools {
				names = append(names, tool.Name)
			}
			if diff := cmp.Diff(tt.want, names); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
			switch {
			case tt.warning == "" && len(warnings) > 0:
				t.Errorf("warnings: %v", warnings)
			case tt.warning != "" && (len(warnings) != 1 || !strings.Contains(warnings[0].Message, tt.warning) || warnings[0].Dropped != tt.dropped):
				t.Errorf("warnings %+v, want one with %q, dropped %v", warnings, tt.warning, tt.dropped)
			}
		})
	}
}

func TestNewServerBounds(t *testing.T) {
	var many []json.RawMessage
	for i := range MaxTools + 5 {
		many = append(many, json.RawMessage(`{"name":"t`+string(rune('a'+i%26))+strings.Repeat("x", i%7)+json.Number(itoa(i)).String()+`","inputSchema":{}}`))
	}
	s, warnings := NewServer("srv", "", "", many)
	if len(s.Tools) != MaxTools || len(warnings) != 1 || !warnings[0].Dropped {
		t.Errorf("%d tools, warnings %v", len(s.Tools), warnings)
	}
	var big []json.RawMessage
	for i := range 10 {
		big = append(big, json.RawMessage(`{"name":"b`+itoa(i)+`","inputSchema":{},"description":"`+strings.Repeat("x", MaxDefinitionBytes-100)+`"}`))
	}
	s, warnings = NewServer("srv", "", "", big)
	if len(s.Tools) != 8 || len(warnings) != 1 || !strings.Contains(warnings[0].Message, "64 MiB") {
		t.Errorf(`%d tools, warnings %v, want 8, len(warnings) 1 and "64 MiB" in it`, len(s.Tools), warnings)
	}
}

func itoa(i int) string { b, _ := json.Marshal(i); return string(b) }

func TestHints(t *testing.T) {
	s, _ := NewServer("srv", "", "", raws(`{"name":"a","inputSchema":{},"annotations":{"title":"T","readOnlyHint":false,"openWorldHint":true,"idempotentHint":null}}`))
	h := s.Tools[0].Hints
	if h.ReadOnly == nil || *h.ReadOnly || h.OpenWorld == nil || !*h.OpenWorld || h.Destructive != nil || h.Idempotent != nil {
		t.Errorf("hints %+v", h)
	}
	if s.Tools[0].Title != "T" {
		t.Errorf(`title %q, want "T"`, s.Tools[0].Title)
	}
}

func TestCanonical(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{"b":1,"a":[true,null,false]}`, `{"a":[true,null,false],"b":1}`},
		{`9007199254740993`, `9007199254740993`},
		{`[1.0,1,1e0,-0.0]`, `[1.0,1,1e0,-0.0]`},
		{`{"a":1,"a":2}`, `{"a":2}`},
		{`"\u20ac\u000f\u000aA'\u0042\u0022\u005c\\\"\/"`, `"€\u000f\nA'B\"\\\\\"/"`},
		{`"<&>\u2028"`, "\"<&>\u2028\""},
		{`{"\ue000":1,"\ud83d\ude00":2}`, "{\"\U0001F600\":2,\"\ue000\":1}"}, // UTF-16 order, not UTF-8
	}
	for _, tt := range tests {
		got, err := Canonical(json.RawMessage(tt.in))
		if err != nil || string(got) != tt.want {
			t.Errorf("Canonical(%s) = %s, %v; want %s", tt.in, got, err, tt.want)
		}
	}
	for _, bad := range []string{``, `{`, `1 2`, `{"a":}`} {
		if got, err := Canonical(json.RawMessage(bad)); err == nil {
			t.Errorf("Canonical(%q) = %s, want an error", bad, got)
		}
	}
}

func TestDigestOrderAndSpaceDontCount(t *testing.T) {
	a, _ := Digest(json.RawMessage(`{"a":1,"b":{"c":2,"d":3}}`))
	b, _ := Digest(json.RawMessage("{ \"b\": {\"d\":3,\n\"c\":2}, \"a\":1 }"))
	c, _ := Digest(json.RawMessage(`{"a":1.0,"b":{"c":2,"d":3}}`))
	if a != b || a == c || !strings.HasPrefix(a, "sha256:") || len(a) != 7+64 {
		t.Errorf("%s %s %s", a, b, c)
	}
}

func TestNewIDsAndDirs(t *testing.T) {
	a, _ := NewServer("Google-Drive", "", "", raws(`{"name":"getDocument","inputSchema":{}}`, `{"name":"get_document","inputSchema":{}}`))
	b, _ := NewServer("google_drive", "", "", raws(`{"name":"../../etc/passwd","inputSchema":{}}`))
	c, err := New([]Server{b, a})
	if err != nil {
		t.Fatal(err)
	}
	if c.Servers[0].Key != "Google-Drive" || c.Servers[0].Dir == c.Servers[1].Dir || c.Servers[1].Dir != "google_drive" {
		t.Errorf("dirs %q %q", c.Servers[0].Dir, c.Servers[1].Dir)
	}
	seen := map[string]bool{}
	for _, s := range c.Servers {
		for _, tool := range s.Tools {
			if seen[tool.ID] || strings.ContainsAny(tool.ID, "/.") || !strings.HasPrefix(tool.ID, s.Dir+"__") {
				t.Errorf("id %q", tool.ID)
			}
			seen[tool.ID] = true
			gotServer, gotTool, ok := c.Lookup(tool.ID)
			if !ok || gotServer.Key != s.Key || gotTool.Name != tool.Name {
				t.Errorf("Lookup(%q) = %v %v %v", tool.ID, gotServer, gotTool, ok)
			}
		}
	}
	if _, _, ok := c.Lookup("google_drive__nothing"); ok {
		t.Error("found a tool that is not there")
	}
	if _, err := New([]Server{{Key: "a"}, {Key: "a"}}); err == nil {
		t.Error("two servers of one key: got no error, want an error")
	}
}

// A server's folder must not depend on whether another one could be reached.
func TestDirsDependOnTheWholeConfiguration(t *testing.T) {
	dirs := Dirs([]string{"a-b", "a_b"})
	one, _ := NewServer("a-b", "", "", nil)
	one.Dir = dirs["a-b"]
	c, err := New([]Server{one})
	if err != nil || c.Servers[0].Dir != dirs["a-b"] || dirs["a-b"] == dirs["a_b"] {
		t.Errorf("%v %v %v", c, dirs, err)
	}
}

// The stored list of a server must be neither the lock nor the phrases.
func TestServerCalledLock(t *testing.T) {
	for key, dir := range Dirs([]string{"lock", "Lock", "lock.next", "phrases"}) {
		if p := StoredPath(dir); p == LockPath || p == PhrasesPath {
			t.Errorf("server %q would be stored in %s", key, p)
		}
	}
}

func FuzzNewServer(f *testing.F) {
	f.Add([]byte(`{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`))
	f.Add([]byte(`null`))
	f.Add([]byte("{\"name\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, _ := NewServer("k", "", "", []json.RawMessage{raw})
		c, err := New([]Server{s})
		if err != nil {
			t.Fatal(err)
		}
		b, err := MarshalServer(&c.Servers[0])
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := UnmarshalServer(b)
		if err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		if len(again.Tools) != len(s.Tools) || (len(s.Tools) == 1 && again.Tools[0].Digest != s.Tools[0].Digest) {
			t.Fatalf("the stored list is another one: %s", b)
		}
	})
}
