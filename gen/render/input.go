package render

import (
	"slices"

	"github.com/mcpgen/mcpgen/gen/ir"
)

// inputOf returns a tool's input as it is printed. Arguments are always an object, so where nothing is known of them
// they are a map.
func inputOf(s ir.Schema) ir.Schema {
	if _, unknown := s.Root.(ir.Unknown); unknown || s.Root == nil {
		s.Root = ir.Map{Value: ir.Unknown{}}
	}
	return s
}

// acceptsEmpty reports whether {} is a value of t.
func acceptsEmpty(s *ir.Schema, t ir.Type) bool {
	switch t := s.Resolve(t).(type) {
	case ir.Unknown, ir.Map:
		return true
	case ir.Object:
		return !slices.ContainsFunc(t.Fields, func(f ir.Field) bool { return f.Required })
	case ir.Union:
		return slices.ContainsFunc(t.Members, func(m ir.Type) bool { return acceptsEmpty(s, m) })
	case ir.Intersection:
		return !slices.ContainsFunc(t.Members, func(m ir.Type) bool { return !acceptsEmpty(s, m) })
	}
	return false
}

// maxBranches bounds what an intersection is multiplied out to.
const maxBranches = 8

// flatten turns an intersection into a type without one, for languages that have none. Where that is too much it
// returns the member that says most: each member alone is a wider type.
func flatten(s *ir.Schema, t ir.Type) ir.Type {
	in, ok := t.(ir.Intersection)
	if !ok {
		return t
	}
	var object ir.Type = ir.Unknown{}
	var rest []ir.Type
	for _, m := range in.Members {
		switch m := flatten(s, s.Resolve(m)).(type) {
		case ir.Union:
			rest = append(rest, m)
		default:
			object = ir.Meet(object, m)
		}
	}
	for _, r := range rest {
		u := r.(ir.Union)
		if len(u.Members) > maxBranches {
			continue
		}
		branches := make([]ir.Type, len(u.Members))
		for i, m := range u.Members {
			branches[i] = ir.Meet(object, flatten(s, s.Resolve(m)))
		}
		merged := ir.NewUnion(branches...)
		if _, never := merged.(ir.Never); never {
			continue
		}
		if _, many := merged.(ir.Union); many {
			return merged // the other unions are left out, which is wider
		}
		object = merged
	}
	if _, still := object.(ir.Intersection); still {
		return widest(object.(ir.Intersection))
	}
	return object
}

// widest picks the member of an intersection to stand for it.
func widest(in ir.Intersection) ir.Type {
	for _, m := range in.Members {
		if _, ok := m.(ir.Object); ok {
			return m
		}
	}
	return in.Members[0]
}
