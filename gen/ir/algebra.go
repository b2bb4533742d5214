package ir

import (
	"fmt"
	"slices"
	"strings"
)

// maxDistribute bounds how many members a union may have for Meet to multiply it out.
const maxDistribute = 64

// NewUnion returns a type that holds every value any of types holds: nested unions are flattened, repeated members
// and those that another member covers are dropped.
func NewUnion(types ...Type) Type {
	var members []Type
	seen := map[string]bool{}
	var add func(t Type) bool
	add = func(t Type) bool {
		switch t := t.(type) {
		case Unknown:
			return false
		case Never:
			return true
		case Union:
			for _, m := range t.Members {
				if !add(m) {
					return false
				}
			}
			return true
		}
		if key := Key(t); !seen[key] {
			seen[key] = true
			members = append(members, t)
		}
		return true
	}
	for _, t := range types {
		if !add(t) {
			return Unknown{}
		}
	}
	members = slices.DeleteFunc(members, func(t Type) bool { return covered(t, seen) })
	switch len(members) {
	case 0:
		return Never{}
	case 1:
		return members[0]
	}
	if everyKind(seen) {
		return Unknown{}
	}
	return Union{Members: members}
}

// covered reports whether a union that has the members in seen holds every value of t already.
func covered(t Type, seen map[string]bool) bool {
	switch t := t.(type) {
	case Literal:
		switch t.Kind {
		case LiteralString:
			return seen[Key(String{})]
		case LiteralBool:
			return seen[Key(Bool{})]
		default:
			return seen[Key(Number{})]
		}
	case Number:
		return t.Integer && seen[Key(Number{})]
	}
	return false
}

func everyKind(seen map[string]bool) bool {
	for _, t := range []Type{Null{}, Bool{}, String{}, Number{}, Array{Elem: Unknown{}}, Map{Value: Unknown{}}} {
		if !seen[Key(t)] {
			return false
		}
	}
	return true
}

// Nullable reports whether t holds null.
func (s *Schema) Nullable(t Type) bool {
	switch t := s.Resolve(t).(type) {
	case Null, Unknown:
		return true
	case Union:
		return slices.ContainsFunc(t.Members, s.Nullable)
	case Intersection:
		return !slices.ContainsFunc(t.Members, func(m Type) bool { return !s.Nullable(m) })
	}
	return false
}

// Meet returns a type that holds every value that both a and b hold, and as few others as it can.
func Meet(a, b Type) Type {
	if Key(a) == Key(b) {
		return a
	}
	switch a := a.(type) {
	case Unknown:
		return b
	case Never:
		return a
	case Union:
		return meetUnion(a, b)
	case Ref, Intersection:
		if _, ok := b.(Unknown); ok {
			return a
		}
		return intersect(a, b)
	}
	switch b.(type) {
	case Unknown, Never, Union, Ref, Intersection:
		return meetSwapped(a, b)
	}
	return meetKinds(a, b)
}

func meetSwapped(a, b Type) Type {
	switch b := b.(type) {
	case Unknown:
		return a
	case Union:
		return meetUnion(b, a)
	case Ref, Intersection:
		return intersect(a, b)
	}
	return Never{}
}

// meetUnion multiplies u out, except where that would repeat the fields of an object in every member.
func meetUnion(u Union, t Type) Type {
	if o, ok := t.(Object); ok && len(o.Fields) > 0 && countObjects(u) > 1 {
		return intersect(o, u)
	}
	factor := 1
	if v, ok := t.(Union); ok {
		factor = len(v.Members)
		if countObjects(u) > 1 && countObjects(v) > 1 {
			return intersect(u, v)
		}
	}
	if len(u.Members)*factor > maxDistribute {
		return u // wider
	}
	out := make([]Type, 0, len(u.Members))
	for _, m := range u.Members {
		out = append(out, Meet(m, t))
	}
	return NewUnion(out...)
}

func countObjects(u Union) int {
	n := 0
	for _, m := range u.Members {
		switch m.(type) {
		case Object, Ref, Intersection:
			n++
		}
	}
	return n
}

// intersect keeps types side by side. What would multiply out to more than maxDistribute members is left out, which is
// wider: a compiler would refuse the product.
func intersect(types ...Type) Type {
	var members []Type
	product := 1
	seen := map[string]bool{}
	add := func(t Type) {
		factor := 1
		if u, ok := t.(Union); ok {
			factor = len(u.Members)
		}
		if key := Key(t); product*factor <= maxDistribute && !seen[key] {
			seen[key] = true
			product *= factor
			members = append(members, t)
		}
	}
	for _, t := range types {
		if i, ok := t.(Intersection); ok {
			for _, m := range i.Members {
				add(m)
			}
		} else {
			add(t)
		}
	}
	switch len(members) {
	case 0:
		return Unknown{}
	case 1:
		return members[0]
	}
	return Intersection{Members: members}
}

// meetKinds meets two types that are each of one JSON kind.
func meetKinds(a, b Type) Type {
	switch x := a.(type) {
	case Literal:
		return meetLiteral(x, b)
	case Number:
		switch y := b.(type) {
		case Number:
			return Number{Integer: x.Integer || y.Integer}
		case Literal:
			return meetLiteral(y, a)
		}
	case String, Bool:
		if y, ok := b.(Literal); ok {
			return meetLiteral(y, a)
		}
	case Array:
		switch y := b.(type) {
		case Array:
			return Array{Elem: Meet(x.Elem, y.Elem)}
		case Tuple:
			return y
		}
	case Tuple:
		switch b.(type) {
		case Array, Tuple:
			return x
		}
	case Map:
		switch y := b.(type) {
		case Map:
			return Map{Value: Meet(x.Value, y.Value)}
		case Object:
			return meetMap(y, x)
		}
	case Object:
		switch y := b.(type) {
		case Map:
			return meetMap(x, y)
		case Object:
			return meetObjects(x, y)
		}
	}
	return Never{}
}

func meetLiteral(l Literal, t Type) Type {
	ok := false
	switch t := t.(type) {
	case String:
		ok = l.Kind == LiteralString
	case Bool:
		ok = l.Kind == LiteralBool
	case Number:
		ok = l.Kind == LiteralNumber
	case Literal:
		// Numbers may be equal and written differently: 1 and 1.0.
		ok = l == t || (l.Kind == LiteralNumber && t.Kind == LiteralNumber)
	}
	if ok {
		return l
	}
	return Never{}
}

// meetMap gives an object that must be a map as well: where the map says something about values, it says it about
// the object's undeclared properties. What it says about declared ones is left out, which is wider.
func meetMap(o Object, m Map) Type {
	if _, any := m.Value.(Unknown); !any && o.Extra == nil {
		o.Extra = m.Value
	}
	return o
}

func meetObjects(a, b Object) Type {
	out := Object{Fields: slices.Clone(a.Fields), Extra: a.Extra}
	for _, f := range b.Fields {
		i := slices.IndexFunc(out.Fields, func(g Field) bool { return g.Name == f.Name })
		if i < 0 {
			out.Fields = append(out.Fields, f)
			continue
		}
		g := &out.Fields[i]
		g.Type = Meet(g.Type, f.Type)
		if _, never := g.Type.(Never); never && (g.Required || f.Required) {
			return Never{}
		}
		g.Required = g.Required || f.Required
		if g.Doc.Description == "" {
			g.Doc = f.Doc
		}
	}
	switch {
	case out.Extra == nil:
		out.Extra = b.Extra
	case b.Extra != nil:
		out.Extra = Meet(out.Extra, b.Extra)
	}
	if _, closed := out.Extra.(Never); closed && len(out.Fields) > len(a.Fields) && len(out.Fields) > len(b.Fields) {
		out.Extra = nil // each side forbade the other's fields; nobody means that
	}
	return out
}

// Key returns a text that is the same for types that are the same, documentation apart.
func Key(t Type) string {
	var b strings.Builder
	writeKey(&b, t)
	return b.String()
}

func writeKey(b *strings.Builder, t Type) {
	switch t := t.(type) {
	case Literal:
		fmt.Fprintf(b, "=%d%q%t", t.Kind, t.Text, t.Bool)
	case Array:
		b.WriteByte('[')
		writeKey(b, t.Elem)
		b.WriteByte(']')
	case Tuple:
		fmt.Fprintf(b, "(%d;", t.Required)
		writeKeys(b, t.Items)
		writeKey(b, t.Rest)
		b.WriteByte(')')
	case Map:
		b.WriteString("{*")
		writeKey(b, t.Value)
		b.WriteByte('}')
	case Object:
		b.WriteByte('{')
		for _, f := range t.Fields {
			fmt.Fprintf(b, "%q%t", f.Name, f.Required)
			writeKey(b, f.Type)
			b.WriteByte(',')
		}
		if t.Extra != nil {
			b.WriteByte('+')
			writeKey(b, t.Extra)
		}
		b.WriteByte('}')
	case Union:
		b.WriteString("|(")
		writeKeys(b, t.Members)
		b.WriteByte(')')
	case Intersection:
		b.WriteString("&(")
		writeKeys(b, t.Members)
		b.WriteByte(')')
	case Ref:
		fmt.Fprintf(b, "@%q", t.Name)
	default:
		fmt.Fprintf(b, "%T%v", t, t)
	}
}

func writeKeys(b *strings.Builder, types []Type) {
	for _, t := range types {
		writeKey(b, t)
		b.WriteByte(',')
	}
}
