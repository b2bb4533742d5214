package typescript

import (
	"slices"

	"github.com/mcpgen/mcpgen/gen/ir"
)

// besideFields widens the index signatures in an intersection in which another member declares properties. The compiler types a literal for
// such a property by the declaration and not by the signature: the text "x" becomes a string, which no longer fits a signature of "x", and
// a list fits no tuple.
func (p *printer) besideFields(members []ir.Type) []ir.Type {
	out := slices.Clone(members)
	for i, t := range members {
		others := slices.Delete(slices.Clone(members), i, i+1)
		if slices.ContainsFunc(others, func(o ir.Type) bool { return p.declares(o, len(p.schema.Defs)) }) {
			out[i] = p.widenSignature(t)
		}
	}
	return out
}

// declares reports whether t, or a member of it, has a property. It follows at most left references.
func (p *printer) declares(t ir.Type, left int) bool {
	any := func(types []ir.Type) bool {
		return slices.ContainsFunc(types, func(m ir.Type) bool { return p.declares(m, left) })
	}
	switch t := t.(type) {
	case ir.Object:
		return len(t.Fields) > 0
	case ir.Union:
		return any(t.Members)
	case ir.Intersection:
		return any(t.Members)
	case ir.Ref:
		left--
		return left < 0 || p.declares(p.schema.Resolve(t), left)
	}
	return false
}

func (p *printer) widenSignature(t ir.Type) ir.Type {
	switch t := t.(type) {
	case ir.Map:
		return ir.Map{Value: withoutContext(t.Value)}
	case ir.Object:
		if t.Extra != nil {
			t.Extra = withoutContext(t.Extra)
		}
		return t
	case ir.Union:
		return ir.NewUnion(eachType(t.Members, p.widenSignature)...)
	case ir.Ref:
		switch target := p.schema.Resolve(t).(type) {
		case ir.Map, ir.Object:
			wider := p.widenSignature(target)
			switch {
			case ir.Key(wider) == ir.Key(target):
				return t
			case refers(target): // including the types to which it refers, it may be endless
				return ir.Unknown{}
			}
			return wider
		}
	}
	return t
}

// withoutContext returns a wider type whose values have the same type in every place: it contains no literal and no tuple.
func withoutContext(t ir.Type) ir.Type {
	switch t := t.(type) {
	case ir.Literal:
		switch t.Kind {
		case ir.LiteralString:
			return ir.String{}
		case ir.LiteralBool:
			return ir.Bool{}
		}
		return ir.Number{}
	case ir.Array:
		return ir.Array{Elem: withoutContext(t.Elem)}
	case ir.Tuple:
		return ir.Array{Elem: ir.Unknown{}}
	case ir.Map:
		return ir.Map{Value: withoutContext(t.Value)}
	case ir.Object:
		t.Fields = slices.Clone(t.Fields)
		for i := range t.Fields {
			t.Fields[i].Type = withoutContext(t.Fields[i].Type)
		}
		if t.Extra != nil {
			t.Extra = withoutContext(t.Extra)
		}
		return t
	case ir.Union:
		return ir.NewPlainUnion(eachType(t.Members, withoutContext)...)
	case ir.Intersection, ir.Ref: // may contain a literal; finding out is not worth the work
		return ir.Unknown{}
	}
	return t
}

func eachType(types []ir.Type, f func(ir.Type) ir.Type) []ir.Type {
	out := make([]ir.Type, len(types))
	for i, t := range types {
		out[i] = f(t)
	}
	return out
}
