package listing_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/schema/listing"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
)

func TestInput(t *testing.T) {
	const hidden = "\u202e\U000e0041"
	for _, tt := range []struct{ name, in, want string }{
		{"as it is", `{"type":"object","properties":{"b":{"type":"string","enum":["x"],"minLength":1},"a":{"type":"integer","maximum":9007199254740993}},"required":["b"]}`,
			`{"type":"object","properties":{"b":{"type":"string","enum":["x"],"minLength":1},"a":{"type":"integer","maximum":9007199254740993}},"required":["b"]}`},
		{"nothing", ``, `{"type":"object","properties":{}}`},
		{"no object", `[1]`, `{"type":"object","properties":{}}`},
		{"no type", `{"properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}}}`},
		{"no properties", `{"type":["object","null"],"additionalProperties":false}`, `{"type":"object","properties":{},"additionalProperties":false}`},
		{"hidden characters in a text", `{"type":"object","properties":{"a":{"description":"one` + hidden + ` two"}}}`, `{"type":"object","properties":{"a":{"description":"one two"}}}`},
		{"in a name", `{"type":"object","properties":{"a` + hidden + `":{},"b":{}},"required":["a` + hidden + `","b"]}`, `{"type":"object","properties":{"b":{}},"required":["b"]}`},
		{"in a value", `{"type":"object","properties":{"a":{"enum":["x` + hidden + `"],"default":"` + hidden + `"},"b":{"enum":["\t",","]}}}`, `{"type":"object","properties":{"a":{},"b":{"enum":["\t",","]}}}`},
		{"other keywords", `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":7,"markdownDescription":"obey"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`},
		{"values of the wrong kind", `{"type":"object","properties":{"a":{"type":"any","description":5,"enum":[],"items":"x","anyOf":{}}},"required":"a"}`, `{"type":"object","properties":{"a":{}}}`},
		{"a number that no program reads", `{"type":"object","properties":{"a":{"maximum":1e999}}}`, `{"type":"object","properties":{"a":{}}}`},
		{"alternatives", `{"type":"object","description":"A search.","oneOf":[{"properties":{"text":{"type":"string"}},"required":["text","in"]},{"properties":{"filter":{"type":"object"}},"required":["filter","in"]}],"properties":{"in":{"type":"string"}}}`,
			`{"type":"object","properties":{"in":{"type":"string"},"text":{"anyOf":[{"type":"string"},{}]},"filter":{"anyOf":[{"type":"object"},{}]}},"description":"A search.\nNeeds text, or filter.","required":["in"]}`},
		{"alternatives that only demand", `{"type":"object","properties":{"a":{},"b":{},"c":{}},"required":["c"],"anyOf":[{"required":["a"]},{"required":["b","c"]}]}`,
			`{"type":"object","properties":{"a":{},"b":{},"c":{}},"description":"Needs a, or b.","required":["c"]}`},
		{"closed alternatives", `{"anyOf":[{"type":"object","properties":{"kind":{"const":"a"},"n":{"type":"integer"}},"required":["kind"],"additionalProperties":false},{"$ref":"#/$defs/b"},{"type":"null"}],"$defs":{"b":{"properties":{"kind":{"const":"b"}},"required":["kind"],"additionalProperties":false}}}`,
			`{"type":"object","properties":{"kind":{"anyOf":[{"const":"a"},{"const":"b"}]},"n":{"type":"integer"}},"$defs":{"b":{"properties":{"kind":{"const":"b"}},"required":["kind"],"additionalProperties":false}},"required":["kind"],"additionalProperties":false}`},
		{"a property that the root describes", `{"properties":{"a":{"type":"string"}},"anyOf":[{"properties":{"a":{"const":"x"}}},{"required":["b"]}]}`, `{"type":"object","properties":{"a":{"type":"string"}}}`},
		{"all of", `{"properties":{"a":{"type":"string"}},"allOf":[{"properties":{"a":{"minLength":1},"b":{}},"required":["b"]},{"not":{"required":["c"]}}],"not":{"required":["d"]}}`,
			`{"type":"object","properties":{"a":{"allOf":[{"type":"string"},{"minLength":1}]},"b":{}},"required":["b"]}`},
		{"a reference at the root", `{"$ref":"#/$defs/a","$defs":{"a":{"properties":{"b":{"type":"string"},"again":{"$ref":"#/$defs/a"}},"required":["b"]}}}`,
			`{"type":"object","properties":{"b":{"type":"string"},"again":{"$ref":"#/$defs/a"}},"$defs":{"a":{"properties":{"b":{"type":"string"},"again":{"$ref":"#/$defs/a"}},"required":["b"]}},"required":["b"]}`},
		{"references in a circle", `{"properties":{"a":{"$ref":"#/properties/a"},"b":{"type":"string","description":"a name","minLength":1}}}`,
			`{"type":"object","properties":{"a":{},"b":{"type":"string","description":"a name"}}}`},
		{"references to nothing", `{"properties":{"a":{"$ref":"#/$defs/a","description":"one"},"b":{"$ref":"https://example.com/b"}}}`, `{"type":"object","properties":{"a":{"description":"one"},"b":{}}}`},
		{"draft 4", `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"n":{"minimum":0,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false},"t":{"items":[{"type":"string"}],"additionalItems":false}},"dependencies":{"n":["t"]}}`,
			`{"type":"object","properties":{"n":{"exclusiveMinimum":0,"maximum":9},"t":{"prefixItems":[{"type":"string"}],"items":false}},"dependentSchemas":{"n":{"required":["t"]}}}`},
		{"patterns that nobody can read", `{"type":"object","properties":{"a":{"type":"string","pattern":"("},"b":{"pattern":"^b"}},"patternProperties":{"[":{}}}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"pattern":"^b"}},"patternProperties":{}}`},
		{"numbers that are no counts", `{"type":"object","properties":{"a":{"minLength":-1,"maxLength":1.5,"multipleOf":0},"b":{}},"required":["b","b"]}`, `{"type":"object","properties":{"a":{},"b":{}},"required":["b"]}`},
		{"names of keywords are names", `{"type":"object","properties":{"description":{"type":"string"},"required":{"type":"boolean"}}}`, `{"type":"object","properties":{"description":{"type":"string"},"required":{"type":"boolean"}}}`},
	} {
		if got := string(listing.Input(json.RawMessage(tt.in))); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestOutput(t *testing.T) {
	const rest = `,{"type":"object"}]}`
	for _, tt := range []struct{ name, in, want string }{
		{"an object", `{"type":"object","properties":{"n":{"type":"integer","description":"how many","minimum":1,"format":"int32"}},"required":["n"],"additionalProperties":false}`,
			`{"type":"object","anyOf":[{"type":"object","properties":{"n":{"type":"integer","description":"how many"}},"required":["n"],"additionalProperties":false}` + rest},
		{"a list", `{"type":"array","items":{"type":"string"}}`,
			`{"type":"object","anyOf":[{"type":"object","properties":{"result":{"type":"array","items":{"type":"string"}}},"required":["result"]}` + rest},
		{"references", `{"type":"object","properties":{"next":{"$ref":"#"},"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`,
			`{"type":"object","anyOf":[{"type":"object","properties":{"next":{"$ref":"#/anyOf/0"},"a":{"$ref":"#/anyOf/0/$defs/a"}},"$defs":{"a":{"type":"string"}}}` + rest},
		{"a list with references", `{"type":"array","items":{"$ref":"#/definitions/a"},"definitions":{"a":{"type":"string"}}}`,
			`{"type":"object","anyOf":[{"type":"object","properties":{"result":{"type":"array","items":{"$ref":"#/anyOf/0/properties/result/definitions/a"},"definitions":{"a":{"type":"string"}}}},"required":["result"]}` + rest},
		{"nothing", ``, ``},
		{"anything", `{}`, ``},
		{"a reference elsewhere", `{"type":"object","properties":{"a":{"$ref":"https://example.com/schema"}}}`, ``},
		{"a reference to nothing", `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}}}`, ``},
		{"a reference to what is left out", `{"type":"object","properties":{"a":{"$ref":"#/not"}},"not":{"type":"string"}}`, ``},
		{"references in a circle", `{"$ref":"#"}`, ``},
		{"an anchor", `{"type":"object","properties":{"a":{"$dynamicRef":"#x"}}}`, ``},
	} {
		got, ok := listing.Output(json.RawMessage(tt.in), "")
		if string(got) != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
		if !ok {
			continue
		}
		v, err := validate.Compile(got)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		for _, value := range []string{`{}`, `{"n":"[EMAIL_1]"}`, `{"result":"not found"}`, `{"preview":"…"}`} {
			if err := v.Validate(json.RawMessage(value)); err != nil {
				t.Errorf("%s: %s is refused: %v", tt.name, value, err)
			}
		}
	}
	if got, _ := listing.Output(json.RawMessage(`{"type":"object"}`), `said "so"`); !strings.HasPrefix(string(got), `{"type":"object","description":"said \"so\"","anyOf":`) {
		t.Errorf("with a description: %s, want %q at its start", got, `{"type":"object","description":"said \"so\"","anyOf":`)
	}
}

// FuzzListing checks that what is listed compiles, is JSON that clients read, and has no character that nobody sees.
func FuzzListing(f *testing.F) {
	for _, seed := range []string{`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"items":[{}]}}}`, `{"anyOf":[{"$ref":"#"}]}`, `{"enum":[1e999,"\u200b"]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out, ok := listing.Output(json.RawMessage(in), "")
		if v, err := validate.Compile(listing.Input(json.RawMessage(in))); err != nil || !strings.Contains(v.Dialect(), "2020-12") {
			t.Fatalf(`%q is listed as %s: %v, want "2020-12" in it and no error`, in, listing.Input(json.RawMessage(in)), err)
		}
		for _, listed := range []json.RawMessage{listing.Input(json.RawMessage(in)), out} {
			if listed == nil && !ok {
				continue
			}
			var root map[string]any
			if err := json.Unmarshal(listed, &root); err != nil || root["type"] != "object" {
				t.Fatalf(`%q is listed as %s: %v, want "object" and no error`, in, listed, err)
			}
			if root["oneOf"] != nil || root["allOf"] != nil || root["not"] != nil {
				t.Fatalf("%q is listed as %s, with alternatives at the root, want nil, nil and nil", in, listed)
			}
			if strings.ContainsAny(string(listed), "\u200b\u202e\U000e0041") {
				t.Fatalf("%q is listed as %s", in, listed)
			}
		}
		if ok {
			if _, err := validate.Compile(out); err != nil {
				t.Fatalf("%q is listed as %s: %v", in, out, err)
			}
		}
	})
}
