package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/ir"
)

// TestExtendingRecursion has a recursive schema that extends another one and narrows what leads back: the way in which
// formats build on JSON Schema itself. The values of the second are those of the first, at each level.
func TestExtendingRecursion(t *testing.T) {
	fields := []string{"items", "not", "contains", "propertyNames", "if", "then", "else"}
	tree := func(ref string) string {
		var out []string
		for _, f := range fields {
			out = append(out, fmt.Sprintf(`%q: {"anyOf": [{"$ref": %q}, {"type": "array", "items": {"$ref": %q}}]}`, f, ref, ref))
		}
		return `"type": "object", "properties": {` + strings.Join(out, ", ") + `}`
	}
	for _, tt := range []struct{ name, extending string }{
		{"base first", `{"allOf": [{"$ref": "#/$defs/Base"}, {` + tree("#/$defs/Own") + `}]}`},
		{"base last", `{"allOf": [{` + tree("#/$defs/Own") + `}, {"$ref": "#/$defs/Base"}]}`},
		{"beside it", `{"$ref": "#/$defs/Base", ` + tree("#/$defs/Own") + `}`},
		{"by another", `{"allOf": [{"$ref": "#/$defs/Between"}, {` + tree("#/$defs/Own") + `}]}`},
	} {
		s, notes := Convert(json.RawMessage(`{"$ref": "#/$defs/Own", "$defs": {"Base": {` + tree("#/$defs/Base") + `},
			"Between": {"allOf": [{"$ref": "#/$defs/Base"}]}, "Own": ` + tt.extending + `}}`))
		n := 0
		count := func(ir.Type) bool { n++; return true }
		ir.Walk(s.Root, count)
		for _, def := range s.Defs {
			ir.Walk(def.Type, count)
		}
		if n > 60 || len(notes) > 0 {
			t.Errorf("%s: %d types, notes %v, want at most 60 and len(notes) at most 0", tt.name, n, notes)
		}
	}
}

// TestNamesOfAddresses wants names that tell of what, not from where.
func TestNamesOfAddresses(t *testing.T) {
	const object = `{"type": "object", "properties": {"x": {}}}`
	s, _ := Convert(json.RawMessage(`{"properties": {
		"a": {"$ref": "#/definitions/http:~1~1example.com~1definitions~12.0~1channel.schema.json"}, "b": {"$ref": "#/definitions/http:~1~1example.com~1definitions~12.0~1channel.schema.json"},
		"c": {"$ref": "#/definitions/https:~1~1example.com~1"}, "d": {"$ref": "#/definitions/https:~1~1example.com~1"}},
		"definitions": {"http://example.com/definitions/2.0/channel.schema.json": ` + object + `, "https://example.com/": ` + object + `}}`))
	var got []string
	for _, def := range s.Defs {
		got = append(got, def.Name)
	}
	if want := "channel, example.com"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %s", got, want)
	}
}

// TestPatternOfEveryName reads how libraries say that all names match.
func TestPatternOfEveryName(t *testing.T) {
	for _, pattern := range []string{"", ".*", "^.*$", "^(.*)$"} {
		s, _ := Convert(json.RawMessage(fmt.Sprintf(`{"type": "object", "patternProperties": {%q: {"type": "number"}}}`, pattern)))
		if s.Root != ir.Type(ir.Map{Value: ir.Number{}}) {
			t.Errorf("%q: got %#v", pattern, s.Root)
		}
	}
}
