package validate

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

func TestValidate(t *testing.T) {
	tests := []struct{ name, schema, instance, want string }{
		{"fits", `{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"a":1}`, ""},
		{"type", `{"properties":{"a":{"properties":{"b":{"type":"integer"}}}}}`, `{"a":{"b":"x"}}`, `a.b: expected integer, got string "x"`},
		{"missing", `{"required":["a","b"]}`, `{"b":1}`, `the value: missing "a"`},
		{"unknown", `{"properties":{"a":{},"c":{}},"additionalProperties":false}`, `{"b":1}`, `the value: unknown property "b"; known are a, c`},
		{"a misspelt name", `{"properties":{"document_id":{},"fields":{}},"additionalProperties":false}`, `{"documentId":1,"zzz":2}`, `the value: unknown property "documentId" (did you mean "document_id"?), "zzz"; known are document_id, fields`},
		{"a misspelt required name", `{"properties":{"document_id":{},"limit":{}},"required":["document_id"]}`, `{"doc_id":1,"limit":2}`, `the value: missing "document_id" (there is "doc_id")`},
		{"enum", `{"properties":{"a/b c":{"enum":["x","y"]}}}`, `{"a/b c":"z"}`, `a/b c: expected one of ["x","y"], got string "z"`},
		{"in a list", `{"items":{"type":"string"}}`, `["a",1]`, `[1]: expected string, got number 1`},
		{"range", `{"items":{"minimum":1,"maximum":5}}`, `[9]`, `[0]: expected a number 1..5, got number 9`},
		{"anyOf", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"a":1}`, `a: expected one of the alternatives (string, null), got number 1`},
		{"nullable", `{"properties":{"a":{"type":"string","nullable":true,"enum":["x"]}}}`, `{"a":null}`, ""},
		{"nullable ref", `{"$defs":{"x":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/x","nullable":true}}}`, `{"a":null}`, ""},
		{"format is not asserted", `{"format":"date"}`, `"x"`, ""},
		{"unknown pattern", `{"pattern":"(?!x)"}`, `"x"`, ""},
		{"unknown pattern of properties", `{"patternProperties":{"(?!x)":{}},"additionalProperties":false}`, `{"a":1}`, ""},
		{"unknown dialect", `{"$schema":"https://example.com/my","type":"string"}`, `1`, `the value: expected string, got number 1`},
		{"nested dialect", `{"properties":{"a":{"$schema":"https://example.com/my","type":"string"}}}`, `{"a":"x"}`, ""},
		{"draft 4", `{"minimum":1,"exclusiveMinimum":true}`, `1`, `the value: expected a number > 1, got number 1`},
		{"tuple of draft 7", `{"items":[{"type":"string"}]}`, `[1]`, `[0]: expected string, got number 1`},
		{"exact", `{"const":9007199254740993}`, `9007199254740992`, `the value: expected 9007199254740993, got number 9007199254740992`},
		{"id of draft 4", `{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://x/root","items":{"$ref":"http://x/root#/definitions/b"},"definitions":{"b":{"type":"string"}}}`, `[1]`, `[0]: expected string, got number 1`},
		{"a property called id", `{"type":"object","properties":{"id":{"type":"string"}}}`, `{"id":1}`, `id: expected string, got number 1`},
		{"embedded resource", `{"$defs":{"a":{"$id":"other","type":"string"}},"items":{"$ref":"other"}}`, `[1]`, `[0]: expected string, got number 1`},
		{"true", `true`, `1`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := Compile(json.RawMessage(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := v.Validate(json.RawMessage(tt.instance)); err != nil {
				got = err.Error()
				var invalid *ValidationError
				if !errors.As(err, &invalid) || len(invalid.Problems) == 0 {
					t.Errorf("the error is %T", err)
				}
			}
			if got != tt.want {
				t.Errorf("got %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestHostileSchemas(t *testing.T) {
	deep := strings.Repeat(`{"properties":{"a":`, 40) + `{}` + strings.Repeat(`}}`, 40)
	tests := []struct{ name, schema, want string }{
		{"file", `{"$ref":"file:///etc/passwd"}`, "leaves the schema"},
		{"http", `{"$ref":"http://127.0.0.1:9/x"}`, "leaves the schema"},
		{"loop", `{"$ref":"#"}`, "infinite loop"},
		{"exponent", `{"maximum":1e20000000}`, "out of range"},
		{"deep", deep, "nested deeper"},
		{"wide", `{"enum":[` + strings.Repeat("1,", jsonschema.DefaultNodes) + `1]}`, "more than"},
		{"not JSON", `{`, "not valid JSON"},
		{"null", `null`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Compile(json.RawMessage(tt.schema))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Compile = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestExponentialSchemasAreRefused(t *testing.T) {
	var doubling strings.Builder // asks for the same check 2^25 times
	doubling.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range 25 {
		fmt.Fprintf(&doubling, `"d%d":{"anyOf":[{"$ref":"#/$defs/d%[2]d"},{"$ref":"#/$defs/d%[2]d"}]},`, i, i+1)
	}
	doubling.WriteString(`"d25":{"type":"null"}}}`)
	recursive := `{"anyOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}],"required":["z"]}`
	tests := []struct{ name, schema, instance string }{
		{"doubling", doubling.String(), `1`},
		{"recursive", recursive, strings.Repeat(`{"a":`, 60) + `1` + strings.Repeat(`}`, 60)},
		{"unique", `{"uniqueItems":true}`, `[` + strings.TrimSuffix(strings.Repeat("1,", 50_000), ",") + `]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := Compile(json.RawMessage(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			err = v.Validate(json.RawMessage(tt.instance))
			if !errors.Is(err, ErrTooCostly) || strings.Contains(err.Error(), "not done after") { // the cost was not seen beforehand
				t.Errorf(`Validate = %v, want %v and no "not done after" in it`, err, ErrTooCostly)
			}
		})
	}
}

func TestHostileInstances(t *testing.T) {
	v, err := Compile(json.RawMessage(`{"type":"number","multipleOf":3}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, instance := range []string{`1e20000000`, `{`, strings.Repeat("9", 100_000), strings.Repeat("[", 1000) + strings.Repeat("]", 1000)} {
		err := v.Validate(json.RawMessage(instance))
		var invalid *ValidationError
		if err == nil || errors.As(err, &invalid) {
			t.Errorf("Validate(%.20s) = %v", instance, err)
		}
	}
}

func TestUndeclared(t *testing.T) {
	for schema, want := range map[string][]string{
		`{"type": "object", "properties": {"a": {}, "b": {}}}`:                                       {"c", "d"},
		`{"properties": {"a": {}}, "required": ["a"]}`:                                               {"c", "d"},
		`{"type": "object", "properties": {}}`:                                                       nil,
		`{"type": "object"}`:                                                                         nil,
		`{"properties": {"a": {}}, "additionalProperties": true}`:                                    nil,
		`{"properties": {"a": {}}, "patternProperties": {"^c": {}}}`:                                 nil,
		`{"properties": {"a": {}}, "anyOf": [{"properties": {"c": {}}}, {"properties": {"d": {}}}]}`: nil,
		`true`: nil,
	} {
		v, err := Compile([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := v.Undeclared([]byte(`{"a": 1, "c": 2, "d": 3}`)); !slices.Equal(got, want) {
			t.Errorf("Undeclared() with %s = %q, want %q", schema, got, want)
		}
	}
}

// TestOptions checks that formats are asserted and every problem is listed only if asked for, and that problems have their keys.
func TestOptions(t *testing.T) {
	var properties, required, values []string
	for i := range 20 {
		properties = append(properties, fmt.Sprintf(`"f%d":{"type":"string","format":"date"}`, i))
		required, values = append(required, fmt.Sprintf(`"m%d"`, i)), append(values, fmt.Sprintf(`"f%d":"soon"`, i))
	}
	schema := json.RawMessage(`{"properties":{"in":{"properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(required, ",") + `]}}}`)
	value := json.RawMessage(`{"in":{` + strings.Join(values, ",") + `}}`)
	strict, err := Options{Formats: true, Problems: 100}.Compile(schema)
	if err != nil {
		t.Fatal(err)
	}
	bad, ok := errors.AsType[*ValidationError](strict.Validate(value))
	if !ok || len(bad.Problems) != 21 {
		t.Fatalf("%d problems, want 21: %v", len(bad.Problems), bad)
	}
	if p := bad.Problems[0]; !slices.Equal(p.Keys, []string{"in"}) || len(p.Missing) != 20 || p.Missing[0] != "m0" {
		t.Errorf("keys %q, missing %q, want in and all that is required", p.Keys, p.Missing)
	}
	if p := bad.Problems[1]; !slices.Equal(p.Keys, []string{"in", "f0"}) || p.Missing != nil || p.Expected != "a text of the format date" {
		t.Errorf("keys %q, %q, want in.f0 and its format", p.Keys, p.Expected)
	}
	lenient, err := Compile(schema)
	if err != nil {
		t.Fatal(err)
	}
	if bad, ok := errors.AsType[*ValidationError](lenient.Validate(value)); !ok || len(bad.Problems) != 1 {
		t.Errorf("without options: %v, want what is missing only", bad)
	}
}
