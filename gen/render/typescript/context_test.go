package typescript

import (
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/ir"
)

// TestSignaturesBesideFields: beside a declared property an index signature gives a literal no context, so the signature must not need one.
func TestSignaturesBesideFields(t *testing.T) {
	x := ir.Literal{Text: "x"}
	fields := ir.Object{Fields: []ir.Field{{Name: "c", Type: ir.Unknown{}}}, Extra: ir.Never{}}
	pair := ir.Tuple{Items: []ir.Type{ir.String{}, ir.Number{}}, Required: 2, Rest: ir.Never{}}
	tests := []struct {
		name   string
		member ir.Type
		defs   []ir.Def
		want   string
	}{
		{"literal", ir.Map{Value: x}, nil, "Record<string, string>"},
		{"literal in a list", ir.Map{Value: ir.Array{Elem: x}}, nil, "Record<string, string[]>"},
		{"tuple", ir.Map{Value: pair}, nil, "Record<string, unknown[]>"},
		{"no literal", ir.Map{Value: ir.Number{}}, nil, "Record<string, number>"},
		{"definition", ir.Ref{Name: "m"}, []ir.Def{{Name: "m", Type: ir.Map{Value: x}}}, "Record<string, string>"},
		{"definition without literals", ir.Ref{Name: "m"}, []ir.Def{{Name: "m", Type: ir.Map{Value: ir.Bool{}}}}, "M"},
	}
	for _, tt := range tests {
		source, err := Language().Types("T", ir.Schema{Root: ir.Intersection{Members: []ir.Type{fields, tt.member}}, Defs: tt.defs})
		if err != nil {
			t.Fatal(err)
		}
		if want := "export type T = { c?: unknown } & " + tt.want + ";"; !strings.Contains(string(source), want) {
			t.Errorf("%s: want %s in\n%s", tt.name, want, source)
		}
	}
	child := ir.Intersection{Members: []ir.Type{fields, ir.Ref{Name: "m"}}}
	recursive := ir.Object{Fields: []ir.Field{{Name: "child", Type: child}}, Extra: x}
	source, err := Language().Types("T", ir.Schema{Root: child, Defs: []ir.Def{{Name: "m", Type: recursive}}})
	if err != nil || !strings.Contains(string(source), "export type T = { c?: unknown } & unknown;") {
		t.Errorf("a definition that refers to itself: %v, want \"export type T = { c?: unknown } & unknown;\" in it and no error\n%s", err, source)
	}
	alone, err := Language().Types("T", ir.Schema{Root: ir.Intersection{Members: []ir.Type{ir.Map{Value: x}, ir.Map{Value: ir.String{}}}}})
	if err != nil || !strings.Contains(string(alone), `Record<string, "x">`) {
		t.Errorf("without declared properties a literal stays: %v, want %q in it and no error\n%s", err, `Record<string, "x">`, alone)
	}
}
