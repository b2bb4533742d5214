package schema

import (
	"encoding/json"
	"slices"

	"github.com/mcpgen/mcpgen/gen/ir"
)

// Members returns the properties that a schema declares for the objects at a path, which consists of names of members from the root down,
// and nil for an item of a list. closed is false if other properties may be there: the schema provides for them, or says nothing of what
// is at the path.
func Members(raw json.RawMessage, path []*string) (declared []string, closed bool) {
	s, _ := Convert(raw)
	at := alternatives(&s, []ir.Type{s.Root})
	for _, step := range path {
		var next []ir.Type
		for _, t := range at {
			next = append(next, inner(t, step)...)
		}
		at = alternatives(&s, next)
	}
	for _, t := range at {
		object, ok := t.(ir.Object)
		if _, none := object.Extra.(ir.Never); !ok && !isScalar(t) || ok && object.Extra != nil && !none {
			return nil, false
		}
		for _, f := range object.Fields {
			if !slices.Contains(declared, f.Name) {
				declared = append(declared, f.Name)
			}
		}
	}
	return declared, len(declared) > 0
}

// maxAlternatives bounds the types that a value at a path may have. If there are more, it may have any.
const maxAlternatives = 100

// alternatives returns the types that the given ones consist of, each once, references resolved. Of an intersection it returns all parts.
func alternatives(s *ir.Schema, todo []ir.Type) []ir.Type {
	var out []ir.Type
	seen := map[string]bool{}
	for len(todo) > 0 {
		t := s.Resolve(todo[0])
		todo = todo[1:]
		key := ir.Key(t)
		if seen[key] {
			continue
		}
		if seen[key] = true; len(seen) > maxAlternatives {
			return []ir.Type{ir.Unknown{}}
		}
		switch t := t.(type) {
		case ir.Union:
			todo = append(todo, t.Members...)
		case ir.Intersection:
			todo = append(todo, t.Members...)
		default:
			out = append(out, t)
		}
	}
	return out
}

// inner returns the types of a member with that name, or of an item if the name is nil.
func inner(t ir.Type, name *string) []ir.Type {
	switch t := t.(type) {
	case ir.Array:
		if name == nil {
			return []ir.Type{t.Elem}
		}
	case ir.Tuple:
		if name == nil {
			return append(slices.Clone(t.Items), t.Rest)
		}
	case ir.Map:
		return []ir.Type{t.Value}
	case ir.Object:
		for _, f := range t.Fields {
			if name != nil && f.Name == *name {
				return []ir.Type{f.Type}
			}
		}
		if t.Extra != nil {
			return []ir.Type{t.Extra}
		}
	case ir.Unknown:
		return []ir.Type{t}
	}
	return nil
}

// isScalar reports whether values of the type have no members of their own.
func isScalar(t ir.Type) bool {
	switch t.(type) {
	case ir.Never, ir.Null, ir.Bool, ir.String, ir.Number, ir.Literal, ir.Array, ir.Tuple:
		return true
	}
	return false
}
