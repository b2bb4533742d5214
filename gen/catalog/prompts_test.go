package catalog

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func withPrompts(t *testing.T, prompts ...string) Server {
	t.Helper()
	s, _ := NewServer("docs", "", "", nil)
	var raw []json.RawMessage
	for _, p := range prompts {
		raw = append(raw, json.RawMessage(p))
	}
	if w := s.SetPrompts(raw); len(w) > 0 {
		t.Fatal(w)
	}
	return s
}

func TestSetPrompts(t *testing.T) {
	s, _ := NewServer("docs", "", "", nil)
	warnings := s.SetPrompts([]json.RawMessage{
		json.RawMessage(`{"name":"b","description":"B","arguments":[{"name":"x","required":true,"description":"X"},{"name":"x"},{"name":7},{"name":"y","required":"yes"}]}`),
		json.RawMessage(`{"name":"a","title":"A","extra":1,"arguments":null}`),
		json.RawMessage(`{"name":"a","title":"other"}`),
		json.RawMessage(`{"Name":"c"}`), json.RawMessage(`7`), json.RawMessage(`{"name":null}`),
		json.RawMessage(`{"name":"d","arguments":{"x":1}}`),
		json.RawMessage(`{"name":"deep","x":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`),
	})
	var names []string
	for _, p := range s.Prompts {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"a", "b", "d"}, names); diff != "" || !s.HasPrompts {
		t.Error(diff)
	}
	want := []PromptArgument{{Name: "x", Description: "X", Required: true}, {Name: "y"}}
	if diff := cmp.Diff(want, s.Prompts[1].Arguments); diff != "" {
		t.Error(diff)
	}
	if s.Prompts[0].Title != "A" || s.Prompts[0].Digest == "" || len(warnings) != 8 {
		t.Errorf("%+v\n%v", s.Prompts[0], warnings)
	}
}

func TestPromptsAreBounded(t *testing.T) {
	s, _ := NewServer("docs", "", "", nil)
	var raw []json.RawMessage
	for i := range MaxPrompts + 5 {
		raw = append(raw, json.RawMessage(fmt.Sprintf(`{"name":"p%d"}`, i)))
	}
	if w := s.SetPrompts(raw); len(s.Prompts) != MaxPrompts || len(w) != 1 {
		t.Errorf("%d prompts, warnings %v, want %d and len(w) 1", len(s.Prompts), w, MaxPrompts)
	}
}

// TestOffersAreStored writes a server and reads it back, with and without what it offers beside tools.
func TestOffersAreStored(t *testing.T) {
	for name, s := range map[string]Server{
		"prompts":    withPrompts(t, `{"name":"a","arguments":[{"name":"x"}],"n":1.0}`),
		"none yet":   withPrompts(t),
		"resources":  {Key: "docs", Resources: true},
		"tools only": {Key: "docs"},
	} {
		b, err := MarshalServer(&s)
		if err != nil {
			t.Fatal(err)
		}
		got, warnings, err := UnmarshalServer(b)
		if err != nil || len(warnings) > 0 {
			t.Fatal(err, warnings)
		}
		if diff := cmp.Diff(s, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if old := name == "tools only"; old && strings.Contains(string(b), "prompts") {
			t.Errorf("%s: %s", name, b)
		}
		s.Dir = "docs"
		c, err := New([]Server{s})
		if err != nil {
			t.Fatal(err)
		}
		locked := NewLock(c, nil, nil).Servers["docs"]
		if !locked.SamePrompts(&s) || locked.Resources != s.Resources {
			t.Errorf("%s: the lock has %+v", name, locked)
		}
	}
}
