package python

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/render"
)

// chained returns n definitions, each built from the next by f, and text at the end.
func chained(n int, f func(next ir.Type) ir.Type) ir.Schema {
	s := ir.Schema{Root: ir.Object{Fields: []ir.Field{{Name: "a", Type: ir.Ref{Name: "N0"}}}}}
	for i := range n {
		s.Defs = append(s.Defs, ir.Def{Name: fmt.Sprintf("N%d", i), Type: f(ir.Ref{Name: fmt.Sprintf("N%d", i+1)})})
	}
	s.Defs = append(s.Defs, ir.Def{Name: fmt.Sprintf("N%d", n), Type: ir.String{}})
	return s
}

// TestPythonBounds uses types that pyright would follow on its stack, which would overflow, or write out in a time that doubles with each.
func TestPythonBounds(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^(?:class )?(N\d+)(?:\(|: TypeAlias = )((?:.|\n  )*)`)
	names := regexp.MustCompile(`\bN\d+\b`)
	for name, f := range map[string]func(next ir.Type) ir.Type{
		"objects": func(next ir.Type) ir.Type { return ir.Object{Fields: []ir.Field{{Name: "x", Type: next}}} },
		"lists":   func(next ir.Type) ir.Type { return ir.Array{Elem: next} },
		"unions":  func(next ir.Type) ir.Type { return ir.NewUnion(next, ir.Array{Elem: next}) },
		"unions of objects": func(next ir.Type) ir.Type {
			return ir.NewUnion(ir.Object{Fields: []ir.Field{{Name: "x", Type: next}}}, ir.Array{Elem: next})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := chained(300, f)
			tool := render.Tool{ID: "s__a", Name: "a", Input: s, Output: &s}
			w, err := files{}.Wrapper(tool, "a")
			if err != nil {
				t.Fatal(err)
			}
			depth, size := map[string]int{}, map[string]int{}
			for _, m := range declared.FindAllStringSubmatch(string(w.Source), -1) {
				for _, used := range names.FindAllString(m[2], -1) {
					depth[m[1]] = max(depth[m[1]], depth[used]+1)
					size[m[1]] = min(size[m[1]]+size[used]+1, 1_000_000)
				}
				if strings.HasPrefix(m[0], "class ") {
					size[m[1]] = 0 // it is not written out
				}
				if depth[m[1]] > 100 || size[m[1]] > 10_000 {
					t.Fatalf("%s leads down %d types, and is %d when written out, want at most 100 and at most 10_000", m[1], depth[m[1]], size[m[1]])
				}
			}
			if len(depth) < 100 {
				t.Fatalf("%d types were found in\n%.2000s", len(depth), w.Source)
			}
		})
	}
}
