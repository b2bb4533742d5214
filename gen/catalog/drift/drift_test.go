package drift

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

func decode(t testing.TB, s string) node {
	t.Helper()
	v, err := jsonschema.Parse([]byte(s), jsonschema.Unlimited)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

func TestCovers(t *testing.T) {
	object := func(properties string, rest ...string) string {
		return `{"type":"object","properties":{` + properties + `}` + strings.Join(append([]string{""}, rest...), ",") + `}`
	}
	const draft7 = `"$schema":"http://json-schema.org/draft-07/schema#"`
	tests := []struct {
		name, old, new string
		want           bool
	}{
		{"title", `{"type":"string"}`, `{"type":"string","title":"x"}`, true},
		{"another type", `{"type":"string"}`, `{"type":["string","null"]}`, true},
		{"a type gone", `{"type":["string","null"]}`, `{"type":"string"}`, false},
		{"integer to number", `{"type":"integer"}`, `{"type":"number"}`, true},
		{"number to integer", `{"type":"number"}`, `{"type":"integer"}`, false},
		{"an unknown type", `{"type":"file"}`, `{"type":"string"}`, false},
		{"list of types to union", `{"type":["string","null"]}`, `{"anyOf":[{"type":"string"},{"type":"null"}]}`, true},
		{"union to list of types", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `{"type":["null","string"]}`, true},
		{"an alternative more", `{"type":"string"}`, `{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}`, true},
		{"an alternative less", `{"anyOf":[{"type":"string"},{"type":"integer"}]}`, `{"type":"string"}`, false},
		{"enum value more", `{"enum":["a","b"]}`, `{"type":"string","enum":["b","a","c"]}`, true},
		{"enum value less", `{"enum":["a","b"]}`, `{"enum":["a"]}`, false},
		{"enum to string", `{"type":"string","enum":["a"]}`, `{"type":"string"}`, true},
		{"const and enum disagree", `{"const":"a"}`, `{"const":"a","enum":["b"]}`, false},
		{"enum within a length", `{"enum":["a","bc"]}`, `{"type":"string","maxLength":2}`, true},
		{"enum beyond a length", `{"enum":["a","bcd"]}`, `{"type":"string","maxLength":2}`, false},
		{"lower minimum", `{"type":"integer","minimum":2}`, `{"type":"integer","minimum":1.0}`, true},
		{"exclusive to inclusive", `{"exclusiveMinimum":1}`, `{"minimum":1}`, true},
		{"inclusive to exclusive", `{"type":"number","minimum":1}`, `{"type":"number","exclusiveMinimum":1}`, false},
		{"higher maximum", `{"maximum":10,"type":"number"}`, `{"maximum":1e1,"type":"number"}`, true},
		{"multiple", `{"type":"integer","multipleOf":6}`, `{"multipleOf":3}`, true},
		{"not a multiple", `{"type":"integer","multipleOf":3}`, `{"multipleOf":6}`, false},
		{"pattern added", `{"type":"string"}`, `{"type":"string","pattern":"a"}`, false},
		{"pattern gone", `{"type":"string","pattern":"a"}`, `{"type":"string"}`, true},
		{"format added", `{"type":"string"}`, `{"type":"string","format":"uri"}`, false},
		{"optional property more", object(`"a":{}`), object(`"a":{},"b":{"type":"string"}`), true},
		{"optional property more, closed", object(`"a":{}`, `"additionalProperties":false`), object(`"a":{},"b":{"type":"string"}`, `"additionalProperties":false`), true},
		{"optional property more, in an open map", object(`"a":{}`, `"additionalProperties":true`), object(`"a":{},"b":{"type":"string"}`, `"additionalProperties":true`), false},
		{"required before it was declared", object(``, `"required":["b"]`), object(`"b":{"type":"string"}`, `"required":["b"]`), false},
		{"required property more", object(`"a":{}`), object(`"a":{},"b":{}`, `"required":["b"]`), false},
		{"no longer required", object(`"a":{}`, `"required":["a"]`), object(`"a":{}`), true},
		{"property gone", object(`"a":{},"b":{}`), object(`"a":{}`), false},
		{"property gone from an element", `{"type":"array","items":` + object(`"a":{},"b":{}`) + `}`, `{"type":"array","items":` + object(`"a":{}`) + `}`, false},
		{"closed now", object(`"a":{}`), object(`"a":{}`, `"additionalProperties":false`), false},
		{"opened", object(`"a":{}`, `"additionalProperties":false`), object(`"a":{}`), true},
		{"values of a map", `{"additionalProperties":{"type":"integer"}}`, `{"additionalProperties":{"type":"number"}}`, true},
		{"values of a map, narrower", `{"additionalProperties":{"type":"number"}}`, `{"additionalProperties":{"type":"integer"}}`, false},
		{"pattern properties", `{"patternProperties":{"^x":{"type":"integer"}}}`, `{"patternProperties":{"^x":{"type":"number"}}}`, true},
		{"pattern properties more", object(`"xa":{"type":"string"}`), object(`"xa":{"type":"string"}`, `"patternProperties":{"^x":{"type":"number"}}`), false},
		{"items", `{"items":{"type":"integer"}}`, `{"items":{"type":["integer","string"]}}`, true},
		{"tuple", `{"prefixItems":[{"type":"integer"}]}`, `{"prefixItems":[{"type":"number"}]}`, true},
		{"tuple narrower", `{"prefixItems":[{"type":"integer"}],"items":{}}`, `{"prefixItems":[{"type":"integer"},{"type":"string"}]}`, false},
		{"unique now", `{"type":"array"}`, `{"type":"array","uniqueItems":true}`, false},
		{"more items", `{"type":"array","maxItems":3}`, `{"type":"array","maxItems":5}`, true},
		{"some items", `{"type":"array"}`, `{"type":"array","minItems":0}`, true},
		{"moved to $defs", object(`"a":{"type":"string"}`), object(`"a":{"$ref":"#/$defs/A"}`, `"$defs":{"A":{"type":"string"}}`), true},
		{"same reference, other meaning", object(`"a":{"$ref":"#/$defs/A"}`, `"$defs":{"A":{"type":["string","null"]}}`), object(`"a":{"$ref":"#/$defs/A"}`, `"$defs":{"A":{"type":"string"}}`), false},
		{"recursive", object(`"a":{"$ref":"#"},"n":{"type":"integer"}`), object(`"a":{"$ref":"#"},"n":{"type":"number"}`), true},
		{"recursive, narrower", object(`"a":{"$ref":"#"},"n":{"type":"number"}`), object(`"a":{"$ref":"#"},"n":{"type":"integer"}`), false},
		{"endless reference", `{"$ref":"#"}`, `{"$ref":"#","type":"string"}`, false},
		{"foreign reference", `{"$ref":"https://example.com/a"}`, `{"$ref":"https://example.com/a","type":"string"}`, false},
		{"siblings of a reference", object(`"a":{"$ref":"#/$defs/A"}`, `"$defs":{"A":{"type":"string"}}`), object(`"a":{"$ref":"#/$defs/A","maxLength":3}`, `"$defs":{"A":{"type":"string"}}`), false},
		{"allOf", `{"allOf":[{"type":"object","required":["a"]},{"properties":{"a":{"type":"string"}}}]}`, object(`"a":{"type":"string"}`, `"required":["a"]`), true},
		{"allOf more", object(`"a":{"type":"string"}`), `{"allOf":[` + object(`"a":{"type":"string"}`) + `,{"required":["a"]}]}`, false},
		{"tagged union grows", `{"oneOf":[` + object(`"k":{"const":"a"}`, `"required":["k"]`) + `]}`,
			`{"oneOf":[` + object(`"k":{"const":"a"}`, `"required":["k"]`) + `,` + object(`"k":{"const":"b"}`, `"required":["k"]`) + `]}`, true},
		{"overlapping oneOf grows", `{"oneOf":[{"type":"string"}]}`, `{"oneOf":[{"type":"string"},{"type":"string","maxLength":3}]}`, false},
		{"not", `{"not":{"type":"string"}}`, `{"not":{"type":"string","maxLength":3}}`, false},
		{"not gone", `{"type":"integer","not":{"const":3}}`, `{"type":"integer"}`, true},
		{"nullable gone", object(`"a":{"type":"string","nullable":true}`), object(`"a":{"type":"string"}`), false},
		{"an unknown keyword", `{"type":"string"}`, `{"type":"string","validator":"luhn"}`, false},
		{"an unknown keyword stays", `{"type":"string","validator":"luhn"}`, `{"type":["string","null"],"validator":"luhn"}`, true},
		{"an extension", `{"type":"string"}`, `{"type":"string","x-order":1}`, true},
		{"unevaluated", object(`"a":{}`), object(`"a":{}`, `"unevaluatedProperties":false`), false},
		{"another draft", `{"type":"string"}`, `{"$schema":"http://json-schema.org/draft-07/schema#","type":"string"}`, true},
		{"another draft, with a tuple", `{"items":[{"type":"string"}]}`, `{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}`, false},
		{"an unknown draft", `{"type":"string"}`, `{"$schema":"https://example.com/schema","type":"string"}`, false},
		{"nothing to nothing", `{}`, `{"description":"x"}`, true},
		{"false", `{"type":"object","properties":{"a":false}}`, object(`"a":{"type":"string"}`), true},
		{"if", object(`"a":{}`), object(`"a":{}`, `"if":{"required":["a"]},"then":{"minProperties":2}`), false},
		{"dependency", object(`"a":{},"b":{}`), object(`"a":{},"b":{}`, `"dependentRequired":{"a":["b"]}`), false},
		{"dependency on a reference", object(`"a":{},"b":{}`, `"dependencies":{"a":{"$ref":"#/definitions/X"}}`, `"definitions":{"X":{"properties":{"b":{"type":"string"}}}}`, draft7),
			object(`"a":{},"b":{}`, `"dependencies":{"a":{"$ref":"#/definitions/X"}}`, `"definitions":{"X":{"properties":{"b":{"type":"string","maxLength":3}}}}`, draft7), false},
		{"the same dependency on a reference", object(`"a":{},"b":{}`, `"dependencies":{"a":{"$ref":"#/definitions/X"}}`, `"definitions":{"X":{"properties":{"b":{"type":"string"}}}}`, draft7),
			object(`"a":{},"b":{"title":"B"}`, `"dependencies":{"a":{"$ref":"#/definitions/X"}}`, `"definitions":{"X":{"properties":{"b":{"type":"string"}}}}`, draft7), true},
		{"dynamic reference", object(`"a":{"$dynamicRef":"#x"}`, `"$defs":{"X":{"$dynamicAnchor":"x","type":"string"}}`), object(`"a":{"$dynamicRef":"#x"}`, `"$defs":{"X":{"$dynamicAnchor":"x","type":"string","maxLength":3}}`), false},
		{"recursive reference", `{"properties":{"a":{"$recursiveRef":"#"}}}`, `{"properties":{"a":{"$recursiveRef":"#"}},"maxProperties":3}`, false},
		{"reference in an unknown keyword", object(`"a":{"validator":[{"by":{"$ref":"#/$defs/X"}}]}`, `"$defs":{"X":{}}`), object(`"a":{"validator":[{"by":{"$ref":"#/$defs/X"}}]}`, `"$defs":{"X":{"type":"string"}}`), false},
		{"reference in an unknown keyword of a not", object(`"a":{"not":{"validator":{"$ref":"#/$defs/X"}}}`, `"$defs":{"X":{}}`), object(`"a":{"not":{"validator":{"$ref":"#/$defs/X"}}}`, `"$defs":{"X":{"type":"string"}}`), false},
		{"properties of a free object", object(`"a":{"type":"object"}`), object(`"a":{"type":"object","properties":{"name":{"maxLength":3}}}`), false},
		{"properties of anything", object(`"a":{}`), object(`"a":{"properties":{"name":{"maxLength":3}}}`), false},
		{"first parameter", `{"type":"object"}`, object(`"a":{"type":"string"}`), true},
		{"no parameters, closed", `{"type":"object","properties":{}}`, `{"type":"object","properties":{},"additionalProperties":false}`, true},
		{"first parameter, closed", `{"type":"object"}`, object(`"a":{"type":"string"}`, `"additionalProperties":false`), true},
		{"a free object, closed", object(`"a":{"type":"object"}`), object(`"a":{"type":"object","additionalProperties":false}`), false},
		{"parameters in a union, closed", `{"type":"object","anyOf":[` + object(`"a":{}`) + `]}`, `{"type":"object","additionalProperties":false}`, false},
		{"property names", `{"propertyNames":{"enum":["a"]}}`, `{"propertyNames":{"type":"string"}}`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Covers(decode(t, tt.old), decode(t, tt.new), true); got != tt.want {
				t.Errorf("Covers(%s, %s) = %v, want %v", tt.old, tt.new, got, tt.want)
			}
		})
	}
}

func TestSameDefaults(t *testing.T) {
	const plain = `{"properties":{"dry_run":{"type":"boolean","default":true}}}`
	tests := []struct {
		name, old, new string
		want           bool
	}{
		{"nothing", plain, plain, true},
		{"changed", plain, `{"properties":{"dry_run":{"type":"boolean","default":false}}}`, false},
		{"gone", plain, `{"properties":{"dry_run":{"type":"boolean"}}}`, false},
		{"moved to $defs", plain, `{"properties":{"dry_run":{"$ref":"#/$defs/D"}},"$defs":{"D":{"type":"boolean","default":true}}}`, true},
		{"beside a reference", `{"properties":{"a":{"$ref":"#/$defs/D","default":1}},"$defs":{"D":{}}}`, `{"properties":{"a":{"$ref":"#/$defs/D","default":2}},"$defs":{"D":{}}}`, false},
		{"moved into a union", plain, `{"properties":{"dry_run":{"anyOf":[{"type":"boolean"},{"type":"null"}],"default":true}}}`, true},
		{"in an element", `{"items":{"properties":{"n":{"default":1}}}}`, `{"items":{"properties":{"n":{"default":2}}}}`, false},
		{"in an alternative", `{"anyOf":[{"properties":{"n":{"default":1}}}]}`, `{"anyOf":[{"properties":{"n":{"default":2}}}]}`, false},
		{"in a map", `{"additionalProperties":{"default":1}}`, `{"additionalProperties":{"default":2}}`, false},
		{"recursive", `{"properties":{"a":{"$ref":"#"},"n":{"default":1}}}`, `{"properties":{"a":{"$ref":"#"},"n":{"default":1}},"title":"x"}`, true},
		{"recursive, changed", `{"properties":{"a":{"$ref":"#"},"n":{"default":1}}}`, `{"properties":{"a":{"$ref":"#"},"n":{"default":2}}}`, false},
		{"a property named default", `{"properties":{"default":{"title":"x"}}}`, `{"properties":{"default":{"title":"y"}}}`, true},
		{"a new property that is off", `{}`, `{"properties":{"force":{"default":false}}}`, true},
		{"a new property that is on", `{}`, `{"properties":{"force":{"default":true}}}`, false},
		{"a new property with one that is on", `{}`, `{"properties":{"o":{"default":{"force":true}}}}`, false},
		{"first given, and on", `{"properties":{"force":{"type":"boolean"}}}`, `{"properties":{"force":{"type":"boolean","default":true}}}`, false},
		{"first given", `{"properties":{"n":{}}}`, `{"properties":{"n":{"default":10}}}`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := SameDefaults(decode(t, tt.old), decode(t, tt.new)); got != tt.want {
				t.Errorf("SameDefaults(%s, %s) = %v, want %v", tt.old, tt.new, got, tt.want)
			}
		})
	}
}

// TestCoversIsBounded has schemas that would take for ever.
func TestCoversIsBounded(t *testing.T) {
	many := func(n int, text string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, text+",", i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	values := `{"enum":[` + many(20_000, `"v%d"`) + `]}`
	nested := `{"$ref":"#/$defs/d40","$defs":{"d0":{"type":"string"}`
	for i := range 40 {
		nested += fmt.Sprintf(`,"d%[1]d":{"anyOf":[{"$ref":"#/$defs/d%[2]d"},{"minLength":%[1]d,"$ref":"#/$defs/d%[2]d"},{"type":"object","properties":{"a":{"$ref":"#/$defs/d%[2]d"}}}]}`, i+1, i)
	}
	nested += `}}`
	big := `{"type":"object","properties":{` + many(20_000, `"p%d":{"type":"string"}`) + `},"anyOf":[{"required":[` + many(20_000, `"p%d"`) + `]}]}`
	same := `{"anyOf":[` + many(90, `{"type":"object","properties":{"k":{"const":%[1]d},"x":{"$ref":"#"}},"required":["k"]}`) + `]}`
	for _, old := range []string{values, nested, big, same} {
		for _, new := range []string{values, nested, big, same} {
			x, y := decode(t, old), decode(t, strings.Replace(new, `"`, `"title":"x","`, 1))
			start := time.Now()
			Covers(x, y, true)
			SameDefaults(x, y)
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("Covers(%.60s, %.60s) took %v, want at most %v", old, new, took, 30*time.Second)
			}
		}
	}
}
