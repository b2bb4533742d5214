package schema

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpgen/mcpgen/gen/ir"
)

// TestDefinitions says which schemas get a name, and which one.
func TestDefinitions(t *testing.T) {
	tests := []struct {
		name, schema string
		want         []string
	}{
		{"used once", `{"properties":{"a":{"$ref":"#/$defs/P"}},"$defs":{"P":{"type":"object","properties":{"x":{}}}}}`, nil},
		{"used twice", `{"properties":{"a":{"$ref":"#/$defs/P"},"b":{"$ref":"#/$defs/P"}},"$defs":{"P":{"type":"object","properties":{"x":{}}}}}`, []string{"P"}},
		{"two ways to say one place", `{"properties":{"a":{"$ref":"#/$defs/P"},"b":{"$ref":"#p"}},"$defs":{"P":{"$anchor":"p","type":"object","properties":{"x":{}}}}}`, []string{"P"}},
		{"short", `{"properties":{"a":{"$ref":"#/$defs/P"},"b":{"$ref":"#/$defs/P"}},"$defs":{"P":{"enum":["x","y"]}}}`, nil},
		{"recursive", `{"$ref":"#/$defs/N","$defs":{"N":{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}}}}}`, []string{"N"}},
		{"mutual", `{"$ref":"#/$defs/A","$defs":{"A":{"items":{"$ref":"#/$defs/B"}},"B":{"items":{"$ref":"#/$defs/A"}}}}`, []string{"A", "B"}},
		{"an alias", `{"properties":{"a":{"$ref":"#/$defs/Q"},"b":{"$ref":"#/$defs/Q"}},"$defs":{"Q":{"$ref":"#/$defs/P"},"P":{"type":"object","properties":{"x":{}}}}}`, []string{"Q"}},
		{"never used", `{"type":"object","$defs":{"P":{"type":"object","properties":{"x":{}}}}}`, nil},
		{"not by title", `{"properties":{"a":{"$ref":"#/$defs/P"},"b":{"$ref":"#/$defs/P"}},"$defs":{"P":{"title":"Evil","type":"object","properties":{"x":{}}}}}`, []string{"P"}},
		{"a number for a name", `{"type":"object","properties":{"filters":{"type":"array","items":{"$ref":"#/$defs/__schema0"}},"b":{"$ref":"#/$defs/__schema0"}},"$defs":{"__schema0":{"type":"object","properties":{"x":{"$ref":"#/$defs/__schema1"},"y":{"$ref":"#/$defs/__schema1"}}},"__schema1":{"type":"object","properties":{"z":{}}}}}`, []string{"filters item", "x"}},
		{"a number of the author", `{"properties":{"a":{"$ref":"#/$defs/V2"},"b":{"$ref":"#/$defs/V2"}},"$defs":{"V2":{"type":"object","properties":{"x":{}}}}}`, []string{"V2"}},
		{"into properties", `{"type":"object","properties":{"filter":{"type":"array","items":{"type":"object","properties":{"x":{}}}},"b":{"$ref":"#/properties/filter/items"},"c":{"$ref":"#/properties/filter/items"}}}`, []string{"filter item"}},
		{"into a branch", `{"type":"object","properties":{"a":{"anyOf":[{"type":"object","properties":{"x":{}}},{"type":"null"}]},"b":{"$ref":"#/properties/a/anyOf/0"},"c":{"$ref":"#/properties/a/anyOf/0"}}}`, []string{"a"}},
		{"embedded", `{"properties":{"a":{"$ref":"other"},"b":{"$ref":"other#/$defs/In"},"c":{"$ref":"other"},"d":{"$ref":"other#/$defs/In"}},
			"$defs":{"O":{"$id":"other","type":"object","properties":{"x":{"$ref":"#/$defs/In"}},"$defs":{"In":{"type":"object","properties":{"y":{}}}}}}}`, []string{"O", "In"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, notes := Convert(json.RawMessage(tt.schema))
			var got []string
			for _, def := range s.Defs {
				got = append(got, def.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || len(notes) > 0 {
				t.Errorf("notes %v, definitions (-want +got):\n%s", notes, diff)
			}
		})
	}
}

// TestDefinitionNamesAreStable adds what has nothing to do with a definition, and wants its name to stay.
func TestDefinitionNamesAreStable(t *testing.T) {
	point := `{"type":"object","properties":{"x":{"type":"number"}}}`
	twice := func(before, defs string) string {
		return `{"properties":{` + before + `"a":{"$ref":"#/$defs/Point"},"b":{"$ref":"#/$defs/Point"}},"$defs":{` + defs + `"Point":` + point + `}}`
	}
	for _, raw := range []string{
		twice("", ""),
		twice(`"z":{"type":"string"},`, ""),
		twice(`"z":{"$ref":"#/$defs/Other"},"y":{"$ref":"#/$defs/Other"},`, `"Other":`+point+`,`),
	} {
		s, _ := Convert(json.RawMessage(raw))
		if got := s.Defs[len(s.Defs)-1].Name; got != "Point" {
			t.Errorf(`%s: the definition is called %q, want "Point"`, raw, got)
		}
	}
}

// TestDocumentationOfInlinedDefinitions wants what a definition says where it is used, when its name is gone.
func TestDocumentationOfInlinedDefinitions(t *testing.T) {
	s, _ := Convert(json.RawMessage(`{"type":"object","properties":{
		"a":{"$ref":"#/$defs/Age"},"b":{"description":"Mine","$ref":"#/$defs/Age"},"c":{"anyOf":[{"$ref":"#/$defs/Age"},{"type":"null"}]},"d":{"type":"array","items":{"$ref":"#/$defs/Age"}}},
		"$defs":{"Age":{"type":"integer","minimum":0,"description":"In years"}}}`))
	want := []ir.Doc{
		{Description: "In years", Limits: []string{">= 0"}},
		{Description: "Mine; In years", Limits: []string{">= 0"}},
		{Description: "In years", Limits: []string{">= 0"}},
		{Limits: []string{"each: In years, >= 0"}},
	}
	for i, f := range s.Root.(ir.Object).Fields {
		if diff := cmp.Diff(want[i], f.Doc); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f.Name, diff)
		}
	}
}
