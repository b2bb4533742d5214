package ir

import "slices"

// meetKinds meets two types of the same JSON kind.
func (x *Algebra) meetKinds(a, b Type) Type {
	if l, ok := a.(Literal); ok {
		return meetLiteral(l, b)
	}
	if l, ok := b.(Literal); ok {
		return meetLiteral(l, a)
	}
	switch p := a.(type) {
	case Number:
		q, _ := b.(Number)
		return Number{Integer: p.Integer || q.Integer}
	case Array, Tuple:
		return x.meetLists(asTuple(a), asTuple(b))
	case Map, Object:
		if m, ok := a.(Map); ok {
			if n, ok := b.(Map); ok {
				return Map{Value: x.Meet(m.Value, n.Value)}
			}
		}
		return x.meetObjects(asObject(a), asObject(b))
	}
	return a
}

// sameLiteral reports whether two literals are the same value. Equal numbers may be written differently.
func sameLiteral(a, b Literal) bool {
	if a.Kind == LiteralNumber && b.Kind == LiteralNumber {
		return a.Text == b.Text || canonical(a.Text) == canonical(b.Text)
	}
	return a == b
}

func meetLiteral(l Literal, t Type) Type {
	ok := false
	switch t := t.(type) {
	case String:
		ok = l.Kind == LiteralString
	case Bool:
		ok = l.Kind == LiteralBool
	case Number:
		ok = l.Kind == LiteralNumber && (!t.Integer || isInteger(l.Text))
	case Literal:
		ok = sameLiteral(l, t)
	}
	if ok {
		return l
	}
	return Never{}
}

func asTuple(t Type) Tuple {
	if a, ok := t.(Array); ok {
		return Tuple{Rest: a.Elem}
	}
	return t.(Tuple)
}

// at returns the type of the element at index i.
func (t Tuple) at(i int) Type {
	if i < len(t.Items) {
		return t.Items[i]
	}
	return t.Rest
}

func (x *Algebra) meetLists(a, b Tuple) Type {
	n := max(len(a.Items), len(b.Items))
	items := make([]Type, n)
	for i := range n {
		items[i] = x.Meet(a.at(i), b.at(i))
	}
	return NewList(items, max(a.Required, b.Required), x.Meet(a.Rest, b.Rest))
}

// NewList returns the type of lists that begin with items, of which required are always present, followed by any number of elements of type
// rest. The list ends before an item that is Never.
func NewList(items []Type, required int, rest Type) Type {
	if end := slices.IndexFunc(items, isNever); end >= 0 {
		items, rest = items[:end], Never{}
	}
	if required > len(items) {
		if isNever(rest) {
			return Never{}
		}
		items = slices.Clone(items)
		for len(items) < required {
			items = append(items, rest)
		}
	}
	if required == 0 {
		for len(items) > 0 && Same(items[len(items)-1], rest) {
			items = items[:len(items)-1]
		}
	}
	if len(items) == 0 {
		return Array{Elem: rest}
	}
	return Tuple{Items: items, Required: required, Rest: rest}
}

func isNever(t Type) bool {
	_, ok := t.(Never)
	return ok
}

func asObject(t Type) Object {
	if m, ok := t.(Map); ok {
		return Object{Extra: m.Value}
	}
	return t.(Object)
}

// rest returns the type of o's undeclared properties.
func (o Object) rest() Type {
	if o.Extra == nil {
		return Unknown{}
	}
	return o.Extra
}

func (o Object) field(name string) (Field, bool) {
	for _, f := range o.Fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// index returns a function that finds fields by name.
func (o Object) index() func(name string) (Field, bool) {
	if len(o.Fields) < 16 {
		return o.field
	}
	at := make(map[string]int, len(o.Fields))
	for i, f := range o.Fields {
		at[f.Name] = i
	}
	return func(name string) (Field, bool) {
		i, ok := at[name]
		if !ok {
			return Field{}, false
		}
		return o.Fields[i], true
	}
}

func (x *Algebra) meetObjects(a, b Object) Type {
	x.spent += (len(a.Fields) + len(b.Fields)) / 16
	out := Object{}
	if a.Extra != nil && b.Extra != nil {
		out.Extra = x.Meet(a.Extra, b.Extra)
	} else if extra := x.Meet(a.rest(), b.rest()); extra != Type(Unknown{}) {
		out.Extra = extra
	}
	inA, inB := a.index(), b.index()
	for _, f := range a.Fields {
		g, declared := inB(f.Name)
		if !declared {
			g = Field{Type: b.rest()}
		}
		f.Type = x.Meet(f.Type, g.Type)
		f.Required = f.Required || g.Required
		if declared {
			f.Doc.Add(g.Doc)
		}
		if !out.add(f) {
			return Never{}
		}
	}
	for _, f := range b.Fields {
		if _, declared := inA(f.Name); declared {
			continue
		}
		f.Type = x.Meet(f.Type, a.rest())
		if !out.add(f) {
			return Never{}
		}
	}
	if len(out.Fields) == 0 && out.Extra != nil && !isNever(out.Extra) {
		return Map{Value: out.Extra}
	}
	return out
}

// add appends a field. It reports false if the field is required and has no value.
func (o *Object) add(f Field) bool {
	if isNever(f.Type) {
		if f.Required {
			return false
		}
		if o.Extra != nil && isNever(o.Extra) {
			return true // a closed object has no such property anyway
		}
	}
	o.Fields = append(o.Fields, f)
	return true
}
