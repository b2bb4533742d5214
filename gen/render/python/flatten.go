package python

import "github.com/mcpgen/mcpgen/gen/ir"

const (
	// maxBranches bounds the branches into which an intersection is multiplied out.
	maxBranches = 8
	// maxFlattened bounds the number of types from which one intersection is built, because references can multiply them.
	maxFlattened = 1000
)

// flatten converts an intersection to a type without one, for languages that have none. If that is too much work, it returns the most
// specific member; each member alone is a wider type.
func flatten(s *ir.Schema, t ir.Type) ir.Type {
	left := maxFlattened
	return flattened(s, t, &left)
}

func flattened(s *ir.Schema, t ir.Type, left *int) ir.Type {
	in, ok := t.(ir.Intersection)
	if !ok {
		return t
	}
	var object ir.Type = ir.Unknown{}
	var unions []ir.Union
	for _, m := range in.Members {
		if *left--; *left < 0 {
			break // the result is wider
		}
		switch m := flattened(s, s.Resolve(m), left).(type) {
		case ir.Union:
			unions = append(unions, m)
		default:
			object = ir.Meet(object, m)
		}
	}
	for _, u := range unions {
		if len(u.Members) > maxBranches {
			continue
		}
		branches := make([]ir.Type, len(u.Members))
		for i, m := range u.Members {
			branches[i] = ir.Meet(object, flattened(s, s.Resolve(m), left))
		}
		merged := ir.NewUnion(branches...)
		if _, never := merged.(ir.Never); never {
			continue
		}
		if _, many := merged.(ir.Union); many {
			return merged // the other unions are left out, which makes the result wider
		}
		object = merged
	}
	if in, still := object.(ir.Intersection); still {
		return widest(in)
	}
	return object
}

// widest picks the member of an intersection that represents it.
func widest(in ir.Intersection) ir.Type {
	for _, m := range in.Members {
		if _, ok := m.(ir.Object); ok {
			return m
		}
	}
	return in.Members[0]
}
