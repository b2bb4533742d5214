package diff

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpgen/mcpgen/gen/catalog"
)

func catalogOf(t *testing.T, key string, tools ...string) *catalog.Catalog {
	t.Helper()
	s, warnings := catalog.NewServer(key, "", "", raws(tools...))
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	c, err := catalog.New([]catalog.Server{s})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// lines are the items of changes, one line each: "kind place op impact: message".
func lines(changes []Change) []string {
	var out []string
	for _, c := range changes {
		for _, i := range c.Items {
			out = append(out, fmt.Sprintf("%s %s %s: %s", c.Kind, i.Place, i.Impact, i.Message))
		}
	}
	return out
}

func TestDiffTool(t *testing.T) {
	const input = `"inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}`
	base := `{"name":"t","description":"Reads all of it.",` + input + `,"annotations":{"readOnlyHint":true}}`
	tests := []struct {
		name      string
		new       string
		want      []string
		important bool
	}{
		{"nothing", base, nil, false},
		{"order of keys", `{"annotations":{"readOnlyHint":true},` + input + `,"description":"Reads all of it.","name":"t"}`, nil, false},
		{"description", strings.Replace(base, "all of it", "some of it", 1), []string{"description  none: description: Reads [-all-]{+some+} of it."}, false},
		{"title", strings.Replace(base, `{"name"`, `{"title":"T","name"`, 1), []string{"title  none: title added: T"}, false},
		{"read-only no more", strings.Replace(base, `"readOnlyHint":true`, `"destructiveHint":false`, 1), []string{
			"hints  none: true → not said: it no longer says that it only reads", "hints  none: not said → false"}, true},
		{"destructive", strings.Replace(base, `"readOnlyHint":true`, `"readOnlyHint":true,"destructiveHint":true`, 1),
			[]string{"hints  none: not said → true: it says now that it may destroy things"}, true},
		{"not idempotent", strings.Replace(base, `"readOnlyHint":true`, `"readOnlyHint":true,"idempotentHint":false`, 1),
			[]string{"hints  none: not said → false"}, false},
		{"input", strings.Replace(base, `"type":"string"`, `"type":"integer"`, 1), []string{"input a breaking: changed: type string → integer"}, false},
		{"output", strings.Replace(base, `{"name"`, `{"outputSchema":{"type":"object","properties":{"x":{}}},"name"`, 1),
			[]string{`output  compatible: declared now: object with x`}, false},
		{"meta", strings.Replace(base, `{"name"`, `{"_meta":{"x":1},"name"`, 1), []string{`definition #/_meta none: added: {"x":1}`}, false},
		{"other annotation", strings.Replace(base, `"readOnlyHint"`, `"x":2,"readOnlyHint"`, 1),
			[]string{`definition #/annotations none: added: {"x":2}`}, false},
		{"number spelled otherwise", strings.Replace(base, input, `"inputSchema":{"type":"object","properties":{"a":{"type":"string"}},"minProperties":1.0}`, 1),
			[]string{"input  breaking: narrowed: minProperties 1.0"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			changes := Catalogs(catalogOf(t, "s", base), catalogOf(t, "s", tt.new), nil)
			important := false
			for _, c := range changes {
				if c.Server != "s" || c.Dir != "s" || c.Tool != "t" || c.ID != "s__t" {
					t.Errorf(`change %+v, want Server "s", Dir "s", Tool "t" and ID "s__t"`, c)
				}
				important = important || c.Important
			}
			if diff := cmp.Diff(tt.want, lines(changes)); diff != "" || important != tt.important {
				t.Errorf("important %v (-want +got):\n%s", important, diff)
			}
		})
	}
}

func TestDiffServersAndTools(t *testing.T) {
	a, b := `{"name":"a","inputSchema":{},"description":"first\nsecond"}`, `{"name":"b","inputSchema":{}}`
	got := Catalogs(catalogOf(t, "s", a), catalogOf(t, "s", b), nil)
	want := []Change{
		{Server: "s", Dir: "s", Tool: "a", ID: "s__a", Kind: ToolRemoved, Impact: Breaking, Verdict: BreakingVerdict, Summary: "first", Items: []Item{}},
		{Server: "s", Dir: "s", Tool: "b", ID: "s__b", Kind: ToolAdded, Impact: Compatible, Verdict: Harmless, Items: []Item{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = Catalogs(nil, catalogOf(t, "s", a, b), nil)
	want = []Change{{Server: "s", Dir: "s", Kind: ServerAdded, Impact: Compatible, Verdict: Harmless, Tools: []string{"a", "b"}, Items: []Item{}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got = Catalogs(catalogOf(t, "s", a), nil, nil); len(got) != 1 || got[0].Kind != ServerRemoved || got[0].Impact != Breaking {
		t.Errorf("%+v, want len(got) 1, Kind %v and Impact %v", got, ServerRemoved, Breaking)
	}
}

func TestDiffRenames(t *testing.T) {
	tool := func(name, description, properties string) string {
		return `{"name":"` + name + `","description":"` + description + `","inputSchema":` + object(properties) + `}`
	}
	const q, nothing = `"q":{"type":"string"}`, ``
	const issues = "List the issues of a repository, newest first."
	tests := []struct {
		name     string
		old, new []string
		want     []string // "kind tool" or "tool-renamed old → new", then the kinds of further changes
	}{
		{"equal", []string{tool("list_issues", issues, q)}, []string{tool("issues_list", issues, q)}, []string{"tool-renamed list_issues → issues_list"}},
		{"description nearly", []string{tool("list_issues", issues, q)}, []string{tool("issues_list", "Lists the issues of a repository, newest first.", q)},
			[]string{"tool-renamed list_issues → issues_list", "description issues_list"}},
		{"other description", []string{tool("list_issues", issues, q)}, []string{tool("issues_list", "Deletes all of them.", q)},
			[]string{"tool-added issues_list", "tool-removed list_issues"}},
		{"other schema", []string{tool("list_issues", issues, q)}, []string{tool("issues_list", issues, `"q":{"type":"integer"}`)},
			[]string{"tool-added issues_list", "tool-removed list_issues"}},
		{"all get a prefix", []string{tool("a", issues, q), tool("b", "Merges a branch.", q)}, []string{tool("x_a", issues, q), tool("x_b", "Merges a branch.", q)},
			[]string{"tool-renamed a → x_a", "tool-renamed b → x_b"}},
		{"FastMCP names the tool in the schemas", []string{`{"name":"search","description":"","inputSchema":{"title":"searchArguments","type":"object","properties":{"q":{"title":"Q"}}},"outputSchema":{"title":"searchOutput","type":"object"}}`},
			[]string{`{"name":"search_all","description":"","inputSchema":{"title":"search_allArguments","type":"object","properties":{"q":{"title":"Q"}}},"outputSchema":{"title":"search_allOutput","type":"object"}}`},
			[]string{"tool-renamed search → search_all", "input search_all", "output search_all"}},
		{"two that fit", []string{tool("a", issues, q)}, []string{tool("b", issues, q), tool("c", issues, q)},
			[]string{"tool-removed a", "tool-added b", "tool-added c"}},
		{"nothing to go by", []string{tool("a", "", nothing)}, []string{tool("b", "", nothing)}, []string{"tool-removed a", "tool-added b"}},
		{"a description alone", []string{tool("a", issues, nothing)}, []string{tool("b", issues, nothing)}, []string{"tool-renamed a → b"}},
		{"schema alone", []string{tool("a", "", q)}, []string{tool("b", "", q)}, []string{"tool-renamed a → b"}},
		{"the old one stays", []string{tool("a", issues, q)}, []string{tool("a", issues, q), tool("b", issues, q)}, []string{"tool-added b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, c := range Catalogs(catalogOf(t, "s", tt.old...), catalogOf(t, "s", tt.new...), nil) {
				line := string(c.Kind) + " "
				if c.Kind == ToolRenamed {
					line += c.OldTool + " → "
					if c.Impact != Breaking || c.OldID != "s__"+c.OldTool || c.ID != "s__"+c.Tool {
						t.Errorf("Catalogs() = %+v, want Impact %v, OldID %q and ID %q", c, Breaking, "s__"+c.OldTool, "s__"+c.Tool)
					}
				}
				got = append(got, line+c.Tool)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Catalogs() (-want +got):\n%s", diff)
			}
		})
	}
}

// object is a schema of an object with these properties.
func object(properties string, rest ...string) string {
	return `{"type":"object","properties":{` + properties + `}` + strings.Join(rest, "") + `}`
}

func TestDiffSchema(t *testing.T) {
	const k = `,"required":["k"]`
	const filter = `{"type":"object","properties":{"name":{"type":"string"},"op":{"enum":["eq","ne"]}}}`
	tests := []struct {
		name, old, new string
		want           []string // "place impact: message", of an input; "out" before it for what an output's impact is
	}{
		{"property added", object(``), object(`"a":{"type":"boolean"}`), []string{"a compatible: added: boolean, optional"}},
		{"required property added", object(``), object(`"a":{"type":["string","null"]}`, `,"required":["a"]`), []string{"a breaking: added: string | null, required"}},
		{"property removed", object(`"a":{"type":"array","items":{"type":"integer"}}`), object(``), []string{"a breaking: removed (was integer[], optional)"}},
		{"required", object(`"a":{}`), object(`"a":{}`, `,"required":["a"]`), []string{"a breaking: now required"}},
		{"optional", object(`"a":{}`, `,"required":["a"]`), object(`"a":{}`), []string{"a compatible: no longer required"}},
		{"required, no property", object(``), object(``, `,"required":["z"]`), []string{"z breaking: now required"}},
		{"type widened", object(`"a":{"type":"string"}`), object(`"a":{"type":["string","null"]}`), []string{"a compatible: widened: type string → string | null"}},
		{"type narrowed", object(`"a":{"type":"number"}`), object(`"a":{"type":"integer"}`), []string{"a breaking: narrowed: type number → integer"}},
		{"type gone", object(`"a":{"type":"number"}`), object(`"a":{}`), []string{"a compatible: widened: type number → anything"}},
		{"nullable three ways", object(`"a":{"type":"string","nullable":true},"b":{"anyOf":[{"type":"string"},{"type":"null"}]}`),
			object(`"a":{"anyOf":[{"type":"null"},{"type":"string"}]},"b":{"type":["null","string"]}`),
			[]string{" none: written differently, with the same meaning: #/properties/a/anyOf, #/properties/a/nullable, #/properties/a/type, #/properties/b/anyOf, #/properties/b/type"}},
		{"enum grows", object(`"a":{"enum":["x"]}`), object(`"a":{"enum":["y","x"]}`), []string{`a compatible: widened: also "y"`}},
		{"enum shrinks", object(`"a":{"enum":["x","y"]}`), object(`"a":{"const":"x"}`), []string{`a breaking: narrowed: no longer "y"`}},
		{"enum changes", object(`"a":{"enum":["x"]}`), object(`"a":{"enum":["y"]}`), []string{`a breaking: changed: no longer "x", now "y"`}},
		{"enum as constants", object(`"a":{"enum":["x","y"]}`), object(`"a":{"oneOf":[{"const":"x"},{"const":"z","type":"string"}]}`), []string{
			`a breaking: changed: no longer "y", now "z"`}},
		{"constant with words", object(`"a":{"oneOf":[{"const":"x"},{"const":"y","description":"Why."}]}`), object(`"a":{"oneOf":[{"const":"x"},{"const":"y","description":"Because."}]}`),
			[]string{`a<"y"> none: description: [-Why-]{+Because+}.`}},
		{"enum comes", object(`"a":{"type":"string"}`), object(`"a":{"type":"string","enum":["x"]}`), []string{`a breaking: narrowed: enum "x"`}},
		{"bounds", object(`"a":{"type":"integer","minimum":1,"maximum":10}`), object(`"a":{"type":"integer","minimum":5,"maximum":9007199254740993}`), []string{
			"a breaking: narrowed: minimum 1 → 5", "a compatible: widened: maximum 10 → 9007199254740993"}},
		{"multiples", object(`"a":{"type":"integer","multipleOf":2}`), object(`"a":{"type":"integer","multipleOf":4}`), []string{"a breaking: changed: multipleOf 2 → 4"}},
		{"exclusive bounds", object(`"a":{"type":"number","minimum":1}`), object(`"a":{"type":"number","exclusiveMinimum":1}`),
			[]string{"a breaking: narrowed: minimum 1 → 1 (exclusive)"}},
		{"draft-04 bounds", object(`"a":{"type":"number","minimum":1,"exclusiveMinimum":true}`), object(`"a":{"type":"number","exclusiveMinimum":1}`),
			[]string{" none: written differently, with the same meaning: #/properties/a/exclusiveMinimum, #/properties/a/minimum"}},
		{"huge bounds", object(`"a":{"type":"number","minimum":1e20000000}`), object(`"a":{"type":"number","minimum":1e30000000}`),
			[]string{"a breaking: changed: minimum 1e20000000 → 1e30000000"}},
		{"text bounds", object(`"a":{"type":"string","maxLength":10}`), object(`"a":{"type":"string","minLength":1,"pattern":"^x"}`), []string{
			"a breaking: narrowed: minLength 1", "a compatible: widened: no maxLength (was 10)", `a breaking: narrowed: pattern "^x"`}},
		{"format", object(`"a":{"type":"string","format":"uri"}`), object(`"a":{"type":"string","format":"email"}`), []string{`a breaking: changed: format "uri" → "email"`}},
		{"words", object(`"a":{"description":"The id.","default":1}`), object(`"a":{"description":"The name.","default":2,"x-y":true}`), []string{
			"a compatible: default 1 → 2", "a none: description: The [-id-]{+name+}.", "a none: x-y true"}},
		{"closed", object(`"a":{}`), object(`"a":{}`, `,"additionalProperties":false`), []string{"{others} breaking: narrowed: type anything → nothing"}},
		{"opened", object(``, `,"additionalProperties":false`), object(``, `,"additionalProperties":{"type":"string"}`), []string{"{others} compatible: widened: type nothing → string"}},
		{"open said", object(``), object(``, `,"additionalProperties":true`), []string{" none: written differently, with the same meaning: #/additionalProperties"}},
		{"pattern", object(``, `,"patternProperties":{"^x":{"type":"string"}}`), object(``, `,"patternProperties":{"^x":{"type":"integer"}}`),
			[]string{"{/^x/} breaking: changed: type string → integer"}},
		{"nested", object(`"f":{"type":"array","items":` + filter + `}`), object(`"f":{"type":"array","minItems":1,"items":` + strings.Replace(filter, `"ne"`, `"lt","ne"`, 1) + `}`), []string{
			"f breaking: narrowed: minItems 1", `f[].op compatible: widened: also "lt"`}},
		{"moved to $defs", object(`"f":` + filter), object(`"f":{"$ref":"#/$defs/F"}`, `,"$defs":{"F":`+filter+`}`),
			[]string{" none: written differently, with the same meaning: #/$defs, #/properties/f/$ref, #/properties/f/properties, #/properties/f/type"}},
		{"behind $ref", object(`"f":{"$ref":"#/definitions/F","description":"d"}`, `,"definitions":{"F":`+filter+`}`),
			object(`"f":{"$ref":"#/definitions/F","description":"d"}`, `,"definitions":{"F":`+strings.Replace(filter, "string", "integer", 1)+`}`),
			[]string{"f.name breaking: changed: type string → integer"}},
		{"used twice", object(`"f":{"$ref":"#/$defs/F"},"g":{"$ref":"#/$defs/F"}`, `,"$defs":{"F":`+filter+`}`),
			object(`"f":{"$ref":"#/$defs/F"},"g":{"$ref":"#/$defs/F"}`, `,"$defs":{"F":`+strings.Replace(filter, "string", "integer", 1)+`}`),
			[]string{"f.name also g.name breaking: changed: type string → integer"}},
		{"recursive", object(`"n":{"$ref":"#"},"v":{"type":"string"}`), object(`"n":{"$ref":"#"},"v":{"type":"integer"}`), []string{"v breaking: changed: type string → integer"}},
		{"anchor", object(`"f":{"$ref":"#f"}`, `,"$defs":{"F":{"$anchor":"f","type":"string"}}`), object(`"f":{"type":"string"}`, ``),
			[]string{" breaking: changed, and too complex to say how: #/$defs, #/properties/f/$ref, #/properties/f/type"}},
		{"allOf of one", object(`"f":{"allOf":[{"$ref":"#/$defs/F"}],"title":"T"}`, `,"$defs":{"F":{"type":"string","title":"F"}}`), object(`"f":{"type":"string","title":"T"}`),
			[]string{" none: written differently, with the same meaning: #/$defs, #/properties/f/allOf, #/properties/f/type"}},
		{"branch added", object(`"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}`), object(`"a":{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"array","items":{"type":"string"}}]}`),
			[]string{"a compatible: widened: type integer | string → integer | string | array"}},
		{"discriminated", `{"oneOf":[` + object(`"k":{"const":"circle"},"r":{"type":"number"}`, k) + `,` + object(`"k":{"const":"square"},"w":{"type":"number"}`, k) + `]}`,
			`{"oneOf":[` + object(`"k":{"const":"square"},"w":{"type":"integer"}`, k) + `,` + object(`"k":{"const":"circle"},"r":{"type":"number"}`, k) + `,` + object(`"k":{"const":"line"}`, k) + `]}`, []string{
				"<k=square>.w breaking: narrowed: type number → integer",
				`<k=line> compatible: widened: alternative {"properties":{"k":{"const":"line"}},"required":["k"],"type":"object"}`}},
		{"overlapping oneOf", `{"oneOf":[` + object(`"a":{"type":"number"}`) + `,` + object(`"b":{"type":"number"}`, `,"title":"B"`) + `]}`,
			`{"oneOf":[` + object(`"a":{"type":"number"}`) + `,` + object(`"b":{}`, `,"title":"B"`) + `]}`, []string{"<B>.b breaking: changed: type number → anything"}},
		{"tuple", object(`"t":{"type":"array","items":[{"type":"string"}]}`), object(`"t":{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false}`), []string{
			"t[1] breaking: narrowed: type anything → integer", "t[…] breaking: narrowed: type anything → nothing"}},
		{"not", object(`"a":{}`), object(`"a":{"not":{"type":"string"}}`), []string{`a breaking: narrowed: not {"type":"string"}`}},
		{"condition", object(`"a":{}`, `,"if":{"required":["a"]}`), object(`"a":{}`, `,"if":{"required":["b"]}`), []string{` breaking: changed: if {"required":["a"]} → {"required":["b"]}`}},
		{"unique", object(`"a":{"type":"array","uniqueItems":true}`), object(`"a":{"type":"array","uniqueItems":false}`), []string{"a compatible: widened: uniqueItems true → false"}},
		{"external $ref", object(`"a":{"$ref":"https://x.example/s"}`), object(`"a":{"$ref":"https://x.example/t"}`), []string{" breaking: changed, and too complex to say how: #/properties/a/$ref"}},
		{"odd names", object(`"a.b":{},"c~/d":{}`), object(``), []string{`"a.b" breaking: removed (was anything, optional)`, `c~/d breaking: removed (was anything, optional)`}},
		{"unused definition", object(``, `,"$defs":{"F":{"type":"string"}}`), object(``, `,"$defs":{"F":{"type":"integer"}}`),
			[]string{" none: written differently, with the same meaning: #/$defs/F/type"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := diffSchema([]byte(tt.old), []byte(tt.new), inputRole, newBudget(1))
			var got []string
			for _, i := range r.items {
				place := strings.Join(append([]string{i.Place}, i.Also...), " also ")
				got = append(got, fmt.Sprintf("%s %s: %s", place, i.Impact, i.Message))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if same := diffSchema([]byte(tt.new), []byte(tt.new+" "), inputRole, newBudget(1)); len(same.items) > 0 {
				t.Errorf("against itself: %+v, want len(same.items) at most 0", same.items)
			}
		})
	}
}

// What breaks who gives a value does not break who gets it, and the other way round.
func TestImpactOfOutputs(t *testing.T) {
	for _, tt := range []struct {
		old, new      string
		input, output Impact
	}{
		{object(`"a":{"type":"string"}`), object(`"a":{"type":["string","null"]}`), Compatible, Breaking},
		{object(`"a":{"enum":["x","y"]}`), object(`"a":{"enum":["x"]}`), Breaking, Compatible},
		{object(`"a":{}`), object(`"a":{}`, `,"required":["a"]`), Breaking, Compatible},
		{object(`"a":{}`, `,"required":["a"]`), object(`"a":{}`), Compatible, Breaking},
		{object(``), object(`"a":{}`, `,"required":["a"]`), Breaking, Compatible},
		{object(`"a":{}`), object(``), Breaking, Breaking},
		{object(`"a":{"type":"string"}`), object(`"a":{"type":"integer"}`), Breaking, Breaking},
		{object(`"a":{"title":"x"}`), object(`"a":{"title":"y"}`), NoImpact, NoImpact},
	} {
		in := diffSchema([]byte(tt.old), []byte(tt.new), inputRole, newBudget(1))
		out := diffSchema([]byte(tt.old), []byte(tt.new), outputRole, newBudget(1))
		if in.impact != tt.input || out.impact != tt.output {
			t.Errorf("%s → %s: input %q, output %q, want %q and %q", tt.old, tt.new, in.impact, out.impact, tt.input, tt.output)
		}
	}
}

func TestDiffSchemaIsBounded(t *testing.T) {
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, `"p%d":{},`, i)
	}
	var chain, union strings.Builder // 2^60 values by way of references
	for i := range 60 {
		fmt.Fprintf(&chain, `"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"},{"minLength":%d}]},`, i, i+1, i+1, i)
		fmt.Fprintf(&union, `"a%d":{"anyOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	bomb := func(b strings.Builder, last string) string {
		return object(`"x":{"$ref":"#/$defs/a0"}`, `,"$defs":{`+b.String()+`"a60":{"type":"`+last+`"}}`)
	}
	nest := func(last string) string {
		return strings.Repeat(`{"items":{"anyOf":[{"type":"null"},`, 80) + last + strings.Repeat(`]}}`, 80)
	}
	for name, tt := range map[string][2]string{
		"properties": {`{}`, `{"properties":{` + strings.TrimSuffix(many.String(), ",") + `}}`},
		"allOf bomb": {bomb(chain, "string"), bomb(chain, "integer")},
		"anyOf bomb": {bomb(union, "string"), bomb(union, "integer")},
		"nested":     {nest(`{"type":"string"}`), nest(`{"type":"integer"}`)},
		"loop":       {object(`"a":{"$ref":"#/properties/a"}`), object(`"a":{"$ref":"#/properties/b"},"b":{"$ref":"#/properties/a"}`)},
		"self allOf": {`{"allOf":[{"$ref":"#"},{"type":"object"}]}`, `{"allOf":[{"$ref":"#"},{"type":"array"}]}`},
		"growing":    {object(`"a":{"type":"array","items":{"allOf":[{"$ref":"#"},{"properties":{"a":{"minItems":1}}}]}}`), object(`"a":{"type":"array","items":{"allOf":[{"$ref":"#"},{"properties":{"a":{"minItems":2}}}]}}`)},
		"wide union": {`{"anyOf":[` + strings.Repeat(`{"type":"string"},`, 5000) + `{}]}`, `{"anyOf":[` + strings.Repeat(`{"type":"string"},`, 5000) + `{"type":"null"}]}`},
		"odd types":  {`{"type":5,"enum":7,"required":{"a":1},"properties":[],"anyOf":{},"$ref":9,"items":"x"}`, `{"type":[[]],"enum":{},"required":[1],"properties":null,"allOf":[1],"minimum":"x"}`},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			r := diffSchema([]byte(tt[0]), []byte(tt[1]), inputRole, newBudget(1))
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("took %s, want at most %s", took, 30*time.Second)
			}
			if len(r.items) == 0 || len(r.items) > maxItems || (len(r.items) == maxItems) != (r.more > 0) {
				t.Errorf("%d items and %d more", len(r.items), r.more)
			}
			t.Logf("%s: %+v", time.Since(start), r.items[0])
		})
	}
}

// Any two schemas can be compared, whatever they hold; each is the same as itself, and different from one that
// accepts other values.
func FuzzDiffSchema(f *testing.F) {
	f.Add([]byte(object(`"a":{"$ref":"#"}`)), []byte(`{"anyOf":[{"const":1},{"$ref":"#/anyOf/0"}]}`))
	f.Add([]byte(`{"allOf":[{"$ref":"#"},{"minimum":1e999999}]}`), []byte(`true`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if !json.Valid(a) || !json.Valid(b) || catalog.Depth(a) > catalog.MaxDepth || catalog.Depth(b) > catalog.MaxDepth {
			return
		}
		digestA, _ := catalog.Digest(a)
		digestB, _ := catalog.Digest(b)
		r := diffSchema(a, b, outputRole, newBudget(1))
		if (digestA == digestB) != (len(r.items) == 0) {
			t.Fatalf("%d items", len(r.items))
		}
		if again := diffSchema(a, b, outputRole, newBudget(1)); !slices.EqualFunc(r.items, again.items, func(x, y Item) bool { return x.Message == y.Message && x.Path == y.Path }) {
			t.Fatalf("%+v\n%+v", r, again)
		}
	})
}

func BenchmarkDiff(b *testing.B) {
	definitions := func(what string) *catalog.Catalog {
		var tools []string
		for i := range 10_000 {
			tools = append(tools, fmt.Sprintf(`{"name":"tool_%d","description":"Some words about %s. %s","inputSchema":%s}`, i, what, strings.Repeat("More words. ", 20),
				object(`"a":{"type":"`+what+`"},"b":{"anyOf":[{"type":"string"},{"type":"null"}]},"c":{"type":"array","items":{"type":"object","properties":{"d":{"enum":["x","y"]}}}}`)))
		}
		s, _ := catalog.NewServer("s", "", "", raws(tools...))
		c, err := catalog.New([]catalog.Server{s})
		if err != nil {
			b.Fatal(err)
		}
		return c
	}
	old, same, changed := definitions("string"), definitions("string"), definitions("integer")
	b.Run("same", func(b *testing.B) {
		for b.Loop() {
			if len(Catalogs(old, same, nil)) > 0 {
				b.Fatal("changes")
			}
		}
	})
	b.Run("all changed", func(b *testing.B) {
		for b.Loop() {
			if len(Catalogs(old, changed, nil)) != 20_000 {
				b.Fatal("changes")
			}
		}
	})
}

// TestDiffOfLongNames: that a name of megabytes stands before very many others costs its length once, and hides none.
func TestDiffOfLongNames(t *testing.T) {
	const size, many = 1 << 20, 20_000
	for _, form := range []string{
		`{"name":"t","inputSchema":{"type":"object","properties":{"%[1]s":{"type":"object","properties":{%[2]s}}}}}`,
		`{"name":"t","inputSchema":{"type":"object"},"_meta":{"%[1]s":{%[2]s}}}`,
	} {
		tool := func(kind string) string {
			var inner strings.Builder
			for i := range many {
				fmt.Fprintf(&inner, `"p%d":{"type":"%s"},`, i, kind)
			}
			return fmt.Sprintf(form, strings.Repeat(".", size), strings.TrimSuffix(inner.String(), ","))
		}
		old, now := catalogOf(t, "s", tool("string")), catalogOf(t, "s", tool("number"))
		began := time.Now()
		changes := Catalogs(old, now, nil)
		if took := time.Since(began); took > time.Minute { // it was minutes
			t.Errorf("it took %v, want at most %v", took, time.Minute)
		}
		if len(changes) != 1 || len(changes[0].Items) != maxItems || len(changes[0].Items)+changes[0].More != many {
			t.Fatalf("%d changes, want 1, len(changes[0].Items) %v and len(changes[0].Items)+changes[0].More %v", len(changes), maxItems, many)
		}
		for _, i := range changes[0].Items {
			if len(i.Path) > 2*maxPlace || len(i.Place) > 2*maxPlace {
				t.Fatalf("a place of %d and %d bytes, want at most %d and at most %d", len(i.Path), len(i.Place), 2*maxPlace, 2*maxPlace)
			}
		}
	}
	long := strings.Repeat("x", 10_000)
	tool := func(properties string) string {
		return `{"name":"t","inputSchema":{"type":"object","properties":{` + properties + `}}}`
	}
	old := catalogOf(t, "s", tool(`"`+long+`a":{"type":"string"},"`+long+`b":{"type":"string"}`))
	if changes := Catalogs(old, catalogOf(t, "s", tool("")), nil); len(changes) != 1 || len(changes[0].Items) != 2 {
		t.Errorf("%v, want len(changes) 1 and len(changes[0].Items) 2", lines(changes))
	}
}

func raws(texts ...string) []json.RawMessage {
	out := make([]json.RawMessage, len(texts))
	for i, t := range texts {
		out[i] = json.RawMessage(t)
	}
	return out
}

func withPrompts(t *testing.T, prompts ...string) catalog.Server {
	t.Helper()
	s, _ := catalog.NewServer("docs", "", "", nil)
	var raw []json.RawMessage
	for _, p := range prompts {
		raw = append(raw, json.RawMessage(p))
	}
	if w := s.SetPrompts(raw); len(w) > 0 {
		t.Fatal(w)
	}
	return s
}

func TestDiffOffers(t *testing.T) {
	base := withPrompts(t, `{"name":"a","description":"one","arguments":[{"name":"x"},{"name":"y","required":true}]}`, `{"name":"b"}`)
	resources := base
	resources.Resources = true
	for _, tt := range []struct {
		name   string
		new    catalog.Server
		impact Impact
		want   []string
	}{
		{"same", withPrompts(t, `{"name":"b"}`, `{"description":"one","name":"a","arguments":[{"name":"x"},{"name":"y","required":true}]}`), "", nil},
		{"resources", resources, Compatible, []string{"offered now"}},
		{"no prompts", catalog.Server{Key: "docs"}, Breaking, []string{"no longer offered", "a: removed", "b: removed"}},
		{"added", withPrompts(t, `{"name":"a","description":"one","arguments":[{"name":"x"},{"name":"y","required":true}]}`, `{"name":"b"}`, `{"name":"c"}`),
			Compatible, []string{"c: added"}},
		{"arguments", withPrompts(t, `{"name":"a","description":"one","arguments":[{"name":"x","required":true},{"name":"y"},{"name":"z","required":true}]}`, `{"name":"b"}`),
			Breaking, []string{"a.x: optional → required", "a.y: required → optional", "a.z: added, required"}},
		{"text", withPrompts(t, `{"name":"a","description":"two","arguments":[{"name":"x"},{"name":"y","required":true}]}`, `{"name":"b"}`),
			NoImpact, []string{"a: description: [-one-]{+two+}"}},
		{"unknown", withPrompts(t, `{"name":"a","description":"one","arguments":[{"name":"x"},{"name":"y","required":true}]}`, `{"name":"b","icons":[]}`),
			NoImpact, []string{"b: changed in a way that has no effect on its arguments"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changes := Catalogs(&catalog.Catalog{Servers: []catalog.Server{base}}, &catalog.Catalog{Servers: []catalog.Server{tt.new}}, nil)
			var lines []string
			for _, c := range changes {
				if c.Impact != tt.impact || c.Tool != "" {
					t.Errorf(`%+v, want Impact %v and Tool ""`, c, tt.impact)
				}
				lines = append(lines, c.Lines()...)
			}
			if diff := cmp.Diff(tt.want, lines); diff != "" {
				t.Error(diff)
			}
		})
	}
}
