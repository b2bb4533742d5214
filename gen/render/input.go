package render

import (
	"slices"

	"github.com/mcpgen/mcpgen/gen/ir"
)

// objectInput returns a tool's input as it is printed. Arguments are always an object, so if nothing is known about them they are a map.
func objectInput(s ir.Schema) ir.Schema {
	if _, unknown := s.Root.(ir.Unknown); unknown || s.Root == nil {
		s.Root = ir.Map{Value: ir.Unknown{}}
	}
	return s
}

// closedInput returns s with its objects closed, except those whose schemas mention undeclared properties.
func closedInput(s ir.Schema) ir.Schema {
	var alg ir.Algebra
	met := map[string]bool{} // definitions in intersections, each of which declares only a part
	var visit func(t ir.Type) ir.Type
	visit = func(t ir.Type) ir.Type {
		switch t := t.(type) {
		case ir.Intersection:
			ir.Walk(t, func(t ir.Type) bool {
				if ref, ok := t.(ir.Ref); ok {
					met[ref.Name] = true
				}
				return true
			})
			return t
		case ir.Object:
			if t.Extra == nil && len(t.Fields) > 0 {
				t.Extra = ir.Never{}
			}
			return alg.Replace(t, visit)
		}
		return alg.Replace(t, visit)
	}
	out := s
	out.Root, out.Defs = visit(s.Root), slices.Clone(s.Defs)
	for i := range out.Defs {
		out.Defs[i].Type = visit(out.Defs[i].Type)
	}
	for i, def := range s.Defs {
		if met[def.Name] {
			out.Defs[i].Type = def.Type
		}
	}
	return out
}
