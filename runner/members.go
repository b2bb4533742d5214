package runner

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/schema"
)

// missingMember returns what is wrong with a member that a script asked a tool's result for and that the result does not have. It returns
// nothing if the tool's output schema declares the member or lets others be there. The path is a JSON array that a guest sent, hostile:
// the names of members from the result down, null for an item of a list.
func missingMember(output json.RawMessage, path string) string {
	var steps []*string
	if json.Unmarshal([]byte(path), &steps) != nil || len(steps) == 0 || steps[len(steps)-1] == nil {
		return ""
	}
	name := *steps[len(steps)-1]
	s, _ := schema.Convert(output)
	at := alternatives(&s, s.Root)
	for _, step := range steps[:len(steps)-1] {
		var next []ir.Type
		for _, t := range at {
			for _, t := range inner(t, step) {
				next = append(next, alternatives(&s, t)...)
			}
		}
		at = next
	}
	var declared []string
	for _, t := range at {
		object, ok := t.(ir.Object)
		if _, none := object.Extra.(ir.Never); !ok && !isScalar(t) || ok && object.Extra != nil && !none {
			return "" // others may be there
		}
		for _, f := range object.Fields {
			declared = append(declared, f.Name)
		}
	}
	switch near := ident.Nearest(name, declared, 1); {
	case len(declared) == 0 || slices.Contains(declared, name):
		return ""
	case len(steps) == 1 && slices.Contains([]string{"structuredContent", "content", "data", "result"}, name):
		return fmt.Sprintf("the call returns the structured content itself, which has no member %q; it has: %s", name, ident.List(declared))
	case len(near) > 0:
		return fmt.Sprintf("its result has no member %q; did you mean %q?", ident.Clip(name, 100), near[0])
	}
	return fmt.Sprintf("its result has no member %q there; it has: %s", ident.Clip(name, 100), ident.List(declared))
}

// alternatives returns the types that t consists of, references resolved. Of an intersection it returns all parts.
func alternatives(s *ir.Schema, t ir.Type) []ir.Type {
	const most = 100
	var out []ir.Type
	todo := []ir.Type{t}
	for n := 0; len(todo) > 0 && n < most; n++ {
		t, todo = s.Resolve(todo[0]), todo[1:]
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
