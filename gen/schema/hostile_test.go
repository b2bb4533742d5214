package schema

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/ir"
)

// TestHostileConversion converts what is made to take for ever, and wants the note that says which bound it met; no
// code where it is within all of them.
func TestHostileConversion(t *testing.T) {
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	branch := `{"anyOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"string"}}},{"type":"array","items":{"type":"string"}}]}`
	nested := func(n int, open, middle, closing string) string {
		return strings.Repeat(open, n) + middle + strings.Repeat(closing, n)
	}
	tests := []struct {
		name, schema string
		code         code
	}{
		{"1,000 levels of properties", nested(1000, `{"properties":{"a":`, `{}`, `}}`), CodeTooDeep},
		{"1,000 levels of allOf", nested(1000, `{"allOf":[`, `{}`, `]}`), CodeTooDeep},
		{"100 levels of properties", nested(100, `{"type":"object","properties":{"a":`, `{"type":"string"}`, `}}`), CodeTooDeep},
		{"a bomb of references", doubling(25, `{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`), ""},
		{"a bomb of references to objects", doubling(25, `{"anyOf":[{"$ref":"#/$defs/d%d"},{"type":"object","properties":{"x":{"$ref":"#/$defs/d%d"}}}]}`), ""},
		{"a bomb of allOf", doubling(25, `{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`), ""},
		{"a bomb of properties that meet", doubling(25, `{"type":"object","properties":{"a":{"$ref":"#/$defs/d%d"}},"allOf":[{"properties":{"a":{"$ref":"#/$defs/d%d"},"b":{}}}]}`), ""},
		{"a bomb of tuples", doubling(25, `{"prefixItems":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`), ""},
		{"a bomb of not", doubling(25, `{"not":{"anyOf":[{"$ref":"#/$defs/d%d"},{"required":["a"],"properties":{"a":{"$ref":"#/$defs/d%d"}}}]}}`), ""},
		{"a bomb of oneOf", doubling(25, `{"oneOf":[{"$ref":"#/$defs/d%d"},{"required":["a"],"properties":{"a":{"$ref":"#/$defs/d%d"}}}]}`), ""},
		{"a bomb of if", doubling(25, `{"if":{"$ref":"#/$defs/d%d"},"then":{"required":["a"]},"else":{"$ref":"#/$defs/d%d"}}`), ""},
		{"a bomb of unevaluated", doubling(25, `{"unevaluatedProperties":false,"anyOf":[{"$ref":"#/$defs/d%d"},{"properties":{"a":{"$ref":"#/$defs/d%d"}}}]}`), ""},
		{"a loop", `{"$ref":"#"}`, CodeCyclicRef},
		{"a loop of allOf", `{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"},{"type":"object"}]},"b":{"allOf":[{"$ref":"#/$defs/a"}]}}}`, CodeCyclicRef},
		{"a chain of 5,000 references", `{"$ref":"#/$defs/d0","$defs":{` + many(5000, `"d%[1]d":{"properties":{"x":{"$ref":"#/$defs/d%[1]d"}}}`) + `}}`, ""},
		{"a long way of references", chain(5000), ""},
		{"2^25 branches", `{"allOf":[` + many(25, `{"anyOf":[{"properties":{"a%[1]d":{"type":"string"}},"required":["a%[1]d"]},{"properties":{"b%[1]d":{"type":"string"}},"required":["b%[1]d"]}]}`) + `]}`, ""},
		{"300 unions", `{"allOf":[` + strings.Repeat(branch+",", 300) + branch + `]}`, ""},
		{"nested unions", nested(20, `{"allOf":[`+branch+`,`, branch, `]}`), ""},
		{"many dependencies", `{"type":"object","dependentRequired":{` + many(2000, `"a%[1]d":["b%[1]d"]`) + `}}`, ""},
		{"a large enum", `{"enum":[` + many(50_000, `"v%d"`) + `]}`, CodeLongEnum},
		{"two large enums", `{"allOf":[{"enum":[` + many(1999, `"v%d"`) + `]},{"enum":[` + many(1999, `"w%d"`) + `]}]}`, CodeNoValue},
		{"a oneOf of enums", `{"oneOf":[` + strings.TrimSuffix(strings.Repeat(`{"enum":[`+many(500, `"v%d"`)+`]},`, 10), ",") + `]}`, CodeNoValue},
		{"20,000 properties", `{"type":"object","properties":{` + many(20_000, `"p%d":{"type":"string"}`) + `}}`, ""},
		{"100,000 properties", `{"type":"object","properties":{` + many(100_000, `"p%d":{"type":"string"}`) + `}}`, CodeTooLarge},
		{"many objects that meet", `{"allOf":[` + many(2000, `{"properties":{"p%d":{"type":"string"}}}`) + `]}`, ""},
		{"many branches", `{"anyOf":[` + many(5000, `{"properties":{"p%d":{"type":"string"}}}`) + `]}`, ""},
		{"many branches of oneOf", `{"type":"object","oneOf":[` + many(2000, `{"required":["p%d"]}`) + `]}`, ""},
		{"many patterns", `{"patternProperties":{` + many(1000, `"^p%d.*(a|b)*$":{}`) + `},"properties":{` + many(1000, `"p%d":{}`) + `}}`, ""},
		{"many dynamic anchors", `{"$dynamicRef":"#a","$defs":{` + many(500, `"d%[1]d":{"$id":"r%[1]d","$dynamicAnchor":"a","items":{"$dynamicRef":"r0#a"}}`) + `}}`, CodeUnresolvedRef},
		{"4 MB of description", `{"description":"` + strings.Repeat("x", 4_000_000) + `"}`, ""},
		{"5 MB of description", `{"description":"` + strings.Repeat("x", 5_000_000) + `"}`, CodeTooLarge},
		{"a number of no size", `{"enum":[1e999999999,1e-999999999,` + strings.Repeat("9", 100_000) + `],"minItems":1e999999999}`, ""},
		{"a long name", `{"properties":{"` + strings.Repeat("x", 1_000_000) + `":{"$ref":"#/$defs/` + strings.Repeat("y", 1_000_000) + `"}}}`, CodeUnresolvedRef},
		{"a long pattern", `{"patternProperties":{"` + strings.Repeat("(a*)*", 100_000) + `":{}},"properties":{"aaa":{}}}`, ""},
		{"a file", `{"$ref":"file:///etc/passwd"}`, CodeExternalRef},
		{"a URL", `{"$ref":"http://127.0.0.1:9/x"}`, CodeExternalRef},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			got, notes := Convert(json.RawMessage(tt.schema))
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			t.Logf("%s, %d MB allocated", took.Round(time.Millisecond), (after.TotalAlloc-before.TotalAlloc)>>20)
			if took > hostileLimit {
				t.Errorf("it took %s, want at most %s", took, hostileLimit)
			}
			if has := slices.ContainsFunc(notes, func(n Note) bool { return n.Code == tt.code }); tt.code != "" && !has {
				t.Errorf("notes are %.300q, want one of code %s", notes, tt.code)
			}
			nodes := 0
			ir.Walk(got.Root, func(ir.Type) bool { nodes++; return true })
			for _, def := range got.Defs {
				ir.Walk(def.Type, func(ir.Type) bool { nodes++; return true })
			}
			if nodes > maxOutput {
				t.Errorf("it became %d types, want at most %d", nodes, maxOutput)
			}
		})
	}
}

// chain is a schema whose definitions refer to each other in a row.
func chain(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"type":"object"}]},`, i, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"object"}}}`, n)
	return b.String()
}

// doubling is a schema that asks for the same check 2^n times.
func doubling(n int, format string) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":`+format+`,`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"null"}}}`, n)
	return b.String()
}
