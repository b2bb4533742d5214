package catalog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func catalogOf(t *testing.T, key string, tools ...string) *Catalog {
	t.Helper()
	s, warnings := NewServer(key, "", "", raws(tools...))
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	c, err := New([]Server{s})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDiffTool(t *testing.T) {
	const input = `"inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer","maximum":10}},"required":["a"]}`
	base := `{"name":"t","description":"Reads.",` + input + `,"annotations":{"readOnlyHint":true}}`
	tests := []struct {
		name string
		new  string
		want []string // "kind: detail"
	}{
		{"nothing", base, nil},
		{"order of keys", `{"annotations":{"readOnlyHint":true},` + input + `,"description":"Reads.","name":"t"}`, nil},
		{"description", strings.Replace(base, "Reads.", "Writes.", 1), []string{`description: "Reads." → "Writes."`}},
		{"title", strings.Replace(base, `{"name"`, `{"title":"T","name"`, 1), []string{`title: "" → "T"`}},
		{"hints", strings.Replace(base, `"readOnlyHint":true`, `"destructiveHint":false`, 1),
			[]string{"hints: readOnlyHint: true → not said", "hints: destructiveHint: not said → false"}},
		{"property added", strings.Replace(base, `"a":{`, `"c":{"type":"boolean"},"a":{`, 1),
			[]string{"input: #/properties/c: property added (boolean)"}},
		{"property removed and required", strings.Replace(strings.Replace(base, `"a":{"type":"string"},`, "", 1), `["a"]`, `["b"]`, 1),
			[]string{"input: #/properties/a: property removed (string, required)", "input: #/properties/b: now required"}},
		{"retyped", strings.Replace(base, `"type":"string"`, `"type":["string","null"]`, 1),
			[]string{`input: #/properties/a/type: "string" → ["string","null"]`}},
		{"bound", strings.Replace(base, `:10`, `:9007199254740993`, 1),
			[]string{"input: #/properties/b/maximum: 10 → 9007199254740993"}},
		{"no longer required", strings.Replace(base, `["a"]`, `[]`, 1), []string{"input: #/properties/a: no longer required"}},
		{"required without property", strings.Replace(base, `["a"]`, `["a","z"]`, 1), []string{`input: #/required: added "z"`}},
		{"output", strings.Replace(base, `{"name"`, `{"outputSchema":{"type":"object"},"name"`, 1),
			[]string{`output: output schema added: {"type":"object"}`}},
		{"meta", strings.Replace(base, `{"name"`, `{"_meta":{"x":1},"name"`, 1), []string{`definition: #/_meta: added: {"x":1}`}},
		{"other annotation", strings.Replace(base, `"readOnlyHint"`, `"x":2,"readOnlyHint"`, 1), []string{`definition: #/annotations: added: {"x":2}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, c := range Diff(catalogOf(t, "s", base), catalogOf(t, "s", tt.new)) {
				if c.Server != "s" || c.Tool != "t" || c.ID != "s__t" {
					t.Errorf("change %+v", c)
				}
				for _, d := range c.Details {
					got = append(got, string(c.Kind)+": "+d)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDiffServersAndTools(t *testing.T) {
	a, b := `{"name":"a","inputSchema":{},"description":"first\nsecond"}`, `{"name":"b","inputSchema":{}}`
	got := Diff(catalogOf(t, "s", a), catalogOf(t, "s", b))
	want := []Change{
		{Server: "s", Tool: "a", ID: "s__a", Kind: ToolRemoved, Details: []string{"first"}},
		{Server: "s", Tool: "b", ID: "s__b", Kind: ToolAdded, Details: []string{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = Diff(nil, catalogOf(t, "s", a, b))
	want = []Change{{Server: "s", Kind: ServerAdded, Details: []string{"a", "b"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got = Diff(catalogOf(t, "s", a), nil); len(got) != 1 || got[0].Kind != ServerRemoved {
		t.Errorf("%+v", got)
	}
}

func TestTextChangeOfLongTexts(t *testing.T) {
	long := strings.Repeat("word ", 200)
	got := textChange(long+"old"+long, long+"new"+long)
	if !strings.Contains(got, "old") || !strings.Contains(got, "new") || len(got) > 400 {
		t.Errorf("%s", got)
	}
}

func TestSchemaDiffIsBounded(t *testing.T) {
	var a strings.Builder
	for i := range 200 {
		a.WriteString(`"p` + itoa(i) + `":{},`)
	}
	got := diffSchema([]byte(`{}`), []byte(`{"properties":{`+strings.TrimSuffix(a.String(), ",")+`}}`))
	if len(got) != maxDetails+1 || got[maxDetails] != "and 150 more" {
		t.Errorf("%d lines, last %q", len(got), got[len(got)-1])
	}
}
