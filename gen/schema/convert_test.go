package schema

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
)

func TestConvertKeepsOrder(t *testing.T) {
	got, notes := Convert(json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"},"m":{}},"required":["a"]}`))
	want := ir.Object{Fields: []ir.Field{
		{Name: "z", Type: ir.String{}}, {Name: "a", Type: ir.Number{Integer: true}, Required: true}, {Name: "m", Type: ir.Unknown{}},
	}}
	if diff := cmp.Diff(ir.Type(want), got.Root); diff != "" || len(notes) > 0 {
		t.Errorf("notes %v, types (-want +got):\n%s", notes, diff)
	}
}

func TestNotes(t *testing.T) {
	deep := strings.Repeat(`{"properties":{"a":`, 140) + `{}` + strings.Repeat(`}}`, 140)
	tests := []struct {
		name, schema string
		code         string
		pointer      string
	}{
		{"null", `null`, CodeBadSchema, ""},
		{"not JSON", `{"a":`, CodeNotJSON, ""},
		{"deep", deep, CodeTooDeep, ""},
		{"wide", `{"enum":[` + strings.Repeat("1,", maxNodes) + `1]}`, CodeTooLarge, ""},
		{"long enum", `{"enum":[` + strings.Repeat("1,", maxEnum) + `1]}`, CodeLongEnum, "/enum"},
		{"outside", `{"properties":{"a/b":{"$ref":"https://example.com/x"}}}`, CodeExternalRef, "/properties/a~1b/$ref"},
		{"file", `{"$ref":"file:///etc/passwd"}`, CodeExternalRef, "/$ref"},
		{"relative file", `{"$ref":"other.json#/x"}`, CodeExternalRef, "/$ref"},
		{"dangling", `{"$ref":"#/$defs/none"}`, CodeUnresolvedRef, "/$ref"},
		{"no anchor", `{"$ref":"#none"}`, CodeUnresolvedRef, "/$ref"},
		{"loop", `{"$ref":"#"}`, CodeCyclicRef, ""},
		{"odd reference", `{"$ref":1}`, CodeBadKeyword, "/$ref"},
		{"odd type", `{"type":"any"}`, CodeBadKeyword, "/type"},
		{"odd anyOf", `{"anyOf":{}}`, CodeBadKeyword, "/anyOf"},
		{"odd required", `{"required":true}`, CodeBadKeyword, "/required"},
		{"odd properties", `{"properties":[]}`, CodeBadKeyword, "/properties"},
		{"newer than its keywords", `{"$schema":"https://json-schema.org/draft/2020-12/schema","items":[{}]}`, CodeBadKeyword, "/$schema"},
		{"unknown dialect", `{"$schema":"https://example.com/my","type":"string"}`, CodeUnknownDialect, "/$schema"},
		{"no value", `{"type":"string","allOf":[{"type":"integer"}]}`, CodeNoValue, ""},
		{"half a surrogate pair", `{"properties":{"\ud800":{}}}`, CodeBadName, "/properties"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, notes := Convert(json.RawMessage(tt.schema))
			for _, n := range notes {
				if n.Pointer == tt.pointer && n.Code == tt.code && n.Message != "" {
					return
				}
			}
			t.Errorf("notes are %q, want %q at %q", notes, tt.code, tt.pointer)
		})
	}
}

func TestLimits(t *testing.T) {
	tests := []struct {
		schema string
		want   []string
	}{
		{`{"minimum":1,"maximum":10}`, []string{"1..10"}},
		{`{"exclusiveMinimum":0}`, []string{"> 0"}},
		{`{"minimum":1,"exclusiveMinimum":true}`, []string{"> 1"}},
		{`{"minimum":-9007199254740991,"maximum":9007199254740991}`, nil},
		{`{"type":"integer","format":"int64"}`, []string{"may exceed 2^53", "format int64"}},
		{`{"type":["integer","null"],"maximum":18446744073709551615}`, []string{"<= 18446744073709551615", "may exceed 2^53"}},
		{`{"type":"integer","maximum":1e300}`, []string{"<= 1e300", "may exceed 2^53"}},
		{`{"type":"integer","maximum":9007199254740992}`, []string{"<= 9007199254740992"}},
		{`{"type":"string","format":"int64"}`, []string{"format int64"}},
		{`{"minLength":1,"maxLength":5,"pattern":"^a","format":"uri"}`, []string{"1..5 characters", "uri", "pattern ^a"}},
		{`{"minLength":1}`, []string{"not empty"}},
		{`{"minItems":1}`, []string{"not empty"}},
		{`{"format":"uuid","pattern":"^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12})$"}`, []string{"uuid"}},
		{`{"pattern":"^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12})$"}`, []string{"uuid"}},
		{`{"format":"email","pattern":"^(?:[A-Za-z0-9_'+\\-]+\\.)*[A-Za-z0-9_'+\\-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$"}`, []string{"email"}},
		{`{"pattern":"^(?:[A-Za-z0-9_'+\\-]+\\.)*[A-Za-z0-9_'+\\-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$"}`, []string{"email"}},
		{`{"format":"date-time","pattern":"^(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|(?:02)-(?:0[1-9]|1\\d|2[0-8])))T(?:(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d+)?(?:Z))$"}`, []string{"date-time in UTC, ending in Z"}},
		{`{"format":"date-time","pattern":"^(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|(?:02)-(?:0[1-9]|1\\d|2[0-8])))T(?:(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d+)?)?(?:Z|([+-](?:[01]\\d|2[0-3]):[0-5]\\d)))$"}`, []string{"date-time"}},
		{`{"format":"date","pattern":"^(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|(?:02)-(?:0[1-9]|1\\d|2[0-8])))$"}`, []string{"date"}},
		{`{"format":"uuid","pattern":"^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12})$"}`, []string{"uuid v4"}},
		// Patterns that resemble those, and say more or something else.
		{`{"format":"date-time","pattern":"^202[4-6]-\\d{2}-\\d{2}T(?:(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d)(?:Z|\\+00:00)$"}`, []string{"date-time", `pattern ^202[4-6]-\d{2}-\d{2}T(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:Z|\+00:00)$`}},
		{`{"format":"date-time","pattern":"^(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|(?:02)-(?:0[1-9]|1\\d|2[0-8])))T(?:(?:[01]\\d|2[0-3]):[0-5]\\d(?:Z))$"}`, []string{"date-time", `pattern ^(?:(?:\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29|\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|(?:02)-(?:0[1-9]|1\d|2[0-8])))T(?:(?:[01]\d|2[0-3]):[0-5]\d(?:Z))$`}},
		{`{"pattern":"^arn:aws:kms:[a-z0-9-]+:\\d{12}:key/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"}`, []string{`pattern ^arn:aws:kms:[a-z0-9-]+:\d{12}:key/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`}},
		{`{"pattern":"^prj_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"}`, []string{"pattern ^prj_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"}},
		{`{"format":"uuid","pattern":"^0190[0-9a-f]{4}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"}`, []string{"uuid", "pattern ^0190[0-9a-f]{4}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"}},
		{`{"format":"uri","pattern":"^https://github\\.com/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+/(issues|pull)/\\d+$"}`, []string{"uri", `pattern ^https://github\.com/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+/(issues|pull)/\d+$`}},
		{`{"format":"email","pattern":"^[A-Za-z0-9._%+-]+@(example\\.com|example\\.org|example\\.net)$"}`, []string{"email", `pattern ^[A-Za-z0-9._%+-]+@(example\.com|example\.org|example\.net)$`}},
		{`{"pattern":"^(?:@[a-z0-9-~][a-z0-9-._~]*/)?[a-z0-9-~][a-z0-9-._~]*$"}`, []string{"pattern ^(?:@[a-z0-9-~][a-z0-9-._~]*/)?[a-z0-9-~][a-z0-9-._~]*$"}},
		{`{"minItems":2,"maxItems":2,"uniqueItems":true}`, []string{"2 items", "no repeats"}},
		{`{"default":{"b":1,"a":[2.50]},"examples":["x","y"]}`, []string{`default {"b":1,"a":[2.50]}`, `e.g. "x", "y"`}},
		{`{"anyOf":[{"type":"integer","minimum":1},{"type":"null"}],"default":null}`, []string{">= 1"}},
		{`{"oneOf":[{"const":"a","description":"The first"},{"const":"b"},{"type":"number","description":"Another","maximum":3}]}`, []string{`"a": The first`, "number: Another, <= 3"}},
		{`{"anyOf":[{"enum":["a",2],"description":"Known"},{"type":"string","description":"A string"},{"type":"null","description":"None at all"}]}`, []string{"null: None at all", `"a"|2: Known`, "A string"}},
		{`{"anyOf":[{"properties":{"a":{},"b":{},"c":{},"d":{}},"description":"Wide"},{"properties":{"a":{},"kind":{"const":"x"}},"description":"Narrow"}]}`, []string{"{a, b, c, …}: Wide", `kind "x": Narrow`}},
		{`{"allOf":[{"description":"One","minLength":2},{"$ref":"#/$defs/x"}],"$defs":{"x":{"description":"Two","maxLength":5}}}`, []string{"at least 2 characters", "at most 5 characters"}},
		{`{"prefixItems":[{"description":"X"},{},{"maximum":3}],"items":{"description":"More"}}`, []string{"[0]: X", "[2]: <= 3", "others: More"}},
		{`{"patternProperties":{"^x":{"description":"Own"},"^y":{}},"propertyNames":{"maxLength":9}}`, []string{"keys match ^x: Own", "keys match ^y", "keys: at most 9 characters"}},
		{`{"enum":[1,9007199254740993,1e22]}`, []string{"one of 9007199254740993|1e22"}},
		{`{"additionalProperties":{"description":"A score","minimum":0}}`, []string{"values: A score, >= 0"}},
		{`{"items":{"description":"A name","maxLength":3}}`, []string{"each: A name, at most 3 characters"}},
		{`{"properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["a","b"]}]}`, []string{"needs a, or a and b"}},
	}
	for _, tt := range tests {
		got, _ := Convert(json.RawMessage(tt.schema))
		if diff := cmp.Diff(tt.want, got.Doc.Limits); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.schema, diff)
		}
	}
}

// TestConvertIsBounded gives schemas that multiply when their references are followed or their unions multiplied out.
func TestConvertIsBounded(t *testing.T) {
	branch := `{"anyOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"string"}}},{"type":"array","items":{"type":"string"}}]}`
	for name, raw := range map[string]string{
		"doubling":      doubling(30, `{"anyOf":[{"$ref":"#/$defs/d%d"},{"type":"object","properties":{"x":{"$ref":"#/$defs/d%d"}}}]}`),
		"doubling all":  doubling(30, `{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`),
		"many unions":   `{"allOf":[` + strings.Repeat(branch+",", 300) + branch + `]}`,
		"nested unions": strings.Repeat(`{"allOf":[`+branch+`,`, 20) + branch + strings.Repeat(`]}`, 20),
		"large enums":   `{"allOf":[{"enum":[` + strings.Repeat(`"a",`, 400) + `"b"]},{"enum":[` + strings.Repeat(`"b",`, 400) + `"c"]}]}`,
	} {
		start := time.Now()
		got, _ := Convert(json.RawMessage(raw))
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s took %s, want at most %s", name, took, 20*time.Second)
		}
		if n := len(ir.Key(got.Root)); n > 1<<20 {
			t.Errorf("%s gives a type of %d bytes, want at most %d", name, n, 1<<20)
		}
	}
}

func FuzzConvert(f *testing.F) {
	for _, s := range []string{
		`{}`, `true`, `null`, `[]`, `{"$ref":"#"}`, `{"type":["object","null"],"properties":{"a":{"enum":[1,"x",null]}},"required":["b"]}`,
		`{"allOf":[{"$ref":"#/$defs/a"},{"type":"object"}],"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{"items":[{},true]}]}}}`,
		`{"prefixItems":[{"const":1.5}],"items":false,"minItems":3,"maxItems":0}`, `{"patternProperties":{"(":{}},"additionalProperties":{"$ref":"#a%"}}`,
		`{"$id":"x","$ref":"x","nullable":true}`, `{"type":"string","pattern":"(?!","minimum":1e999}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		start := time.Now()
		a, _ := Convert(raw)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("it took %s, want at most %s", took, 20*time.Second)
		}
		b, _ := Convert(raw)
		if ir.Key(a.Root) != ir.Key(b.Root) || len(a.Defs) != len(b.Defs) {
			t.Error("the same schema gave two types")
		}
		if v, err := validate.Compile(raw); err == nil {
			_ = v.Validate(json.RawMessage(`{"a":[1,"x",null,{"a":{}}],"b":1.5}`))
		}
	})
}
