package python

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/schema"
)

// TestPythonRecursiveTypes checks that python3 can load the modules: a recursive alias is a text, which | does not accept.
func TestPythonRecursiveTypes(t *testing.T) {
	const nested = `"J": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/J"}}]}`
	tests := []struct{ name, schema, want string }{
		{"alias in a call", `{"type": "object", "$defs": {` + nested + `}, "properties": {"first": {"$ref": "#/$defs/J"},
			"o": {"type": "object", "properties": {"a-b": {"anyOf": [{"$ref": "#/$defs/J"}, {"type": "null"}]}}, "additionalProperties": false}}}`,
			`"a-b": 'J | None',`},
		{"alias in an alias", `{"type": "object", "$defs": {` + nested + `, "K": {"anyOf": [{"$ref": "#/$defs/J"}, {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}, "x": {"type": "string"}}}}]}},
			"properties": {"a": {"$ref": "#/$defs/J"}, "b": {"$ref": "#/$defs/K"}, "c": {"$ref": "#/$defs/K"}}}`,
			`K: TypeAlias = '`},
		{"names in capitals", `{"type": "object", "properties": {"Name": {"type": "string"}, "Child": {"$ref": "#"}}, "required": ["Name"]}`,
			"class TFields(Open):\n    Name: str\n    Child: NotRequired[T]"},
		{"names that are no words", `{"type": "object", "properties": {"$schema": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#"}}}}`,
			"TFieldsKeys = TypedDict(\"TFieldsKeys\", {\n    \"$schema\": 'str',\n}, total=False)\n\n\nclass TFields(TFieldsKeys, Open, total=False):\n    kids: Sequence[T]"},
		{"words that are recursive", `{"type": "object", "properties": {"not": {"$ref": "#"}}}`, "T: TypeAlias = TFields | Mapping[str, Any]"},
	}
	for _, tt := range tests {
		s, _ := schema.Convert(json.RawMessage(tt.schema))
		source, err := Language().Types("T", s)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(source), tt.want) {
			t.Errorf("%s: got\n%s\nwithout\n%s", tt.name, source, tt.want)
		}
	}
}
