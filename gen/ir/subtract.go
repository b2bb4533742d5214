package ir

// maxAlternatives bounds the number of objects into which Subtract splits one.
const maxAlternatives = 4

// Subtract returns a type that holds every value of a that is not a value of b, and as few others as possible. b must not be a widened
// type.
func (x *Algebra) Subtract(a, b Type) Type { return x.subtract(a, b, maxAlternatives) }

// SubtractFlat is like Subtract, but does not split objects.
func (x *Algebra) SubtractFlat(a, b Type) Type { return x.subtract(a, b, 1) }

func (x *Algebra) subtract(a, b Type, most int) Type {
	switch b := b.(type) {
	case Unknown:
		return Never{}
	case Never:
		return a
	case Union:
		if left, ok := withoutLiterals(a, b); ok {
			return left
		}
		for _, m := range b.Members {
			a = x.subtract(a, m, most)
		}
		return a
	}
	if isNever(a) || x.kinds(a)&x.kinds(b) == 0 {
		return a
	}
	if !x.begin() {
		return a
	}
	defer x.end()
	switch b := b.(type) {
	case Ref:
		if r, ok := x.resolve(b); ok {
			return x.subtract(a, r, most)
		}
		return x.wide(a)
	case Intersection:
		out := make([]Type, len(b.Members))
		for i, m := range b.Members {
			out[i] = x.subtract(a, m, most)
		}
		return NewUnion(out...)
	}
	return x.subtractOne(a, b, most)
}

// withoutLiterals subtracts one enumeration from another; ok is false if either is not an enumeration.
func withoutLiterals(a Type, b Union) (left Type, ok bool) {
	taken := make(map[Literal]bool, len(b.Members))
	for _, m := range b.Members {
		l, ok := m.(Literal)
		if !ok {
			return nil, false
		}
		taken[l.canonical()] = true
	}
	var out []Type
	for _, m := range members(a) {
		l, ok := m.(Literal)
		if !ok {
			return nil, false
		}
		if !taken[l.canonical()] {
			out = append(out, l)
		}
	}
	return NewUnion(out...), true
}

// wide returns a, and counts it as widened.
func (x *Algebra) wide(a Type) Type {
	x.Widened++
	return a
}

// subtractOne subtracts a type of one kind.
func (x *Algebra) subtractOne(a, b Type, most int) Type {
	switch a := a.(type) {
	case Unknown, Union:
		out := []Type{}
		for _, m := range expanded(a) {
			out = append(out, x.subtract(m, b, most))
		}
		return NewUnion(out...)
	case Ref:
		if r, ok := x.resolve(a); ok {
			left := x.subtract(r, b, most)
			if Same(left, r) {
				return a
			}
			return left
		}
		return x.wide(a)
	case Intersection:
		return x.wide(a)
	case Array, Tuple:
		return x.subtractLists(asTuple(a), asTuple(b), a)
	case Map, Object:
		return x.subtractObjects(asObject(a), asObject(b), a, most)
	case Literal:
		if isNever(meetLiteral(a, b)) {
			return a
		}
		return Never{}
	case Bool:
		if l, ok := b.(Literal); ok {
			return Literal{Kind: LiteralBool, Bool: !l.Bool}
		}
		return Never{}
	case Number:
		if n, ok := b.(Number); ok && (!n.Integer || a.Integer) {
			return Never{}
		}
		return x.wide(a)
	case String:
		if _, ok := b.(String); ok {
			return Never{}
		}
		return x.wide(a)
	}
	return Never{} // null
}

// subtractWhole subtracts b if it holds none or all of a's values.
func (x *Algebra) subtractWhole(a, b Type) (done bool, out Type) {
	before := x.Widened
	met := x.Meet(a, b)
	switch {
	case isNever(met):
		return true, a
	case Same(met, a) && x.Widened == before: // a wide result proves nothing
		return true, Never{}
	}
	return false, nil
}

func (x *Algebra) subtractLists(a, b Tuple, whole Type) Type {
	if done, out := x.subtractWhole(whole, Type(b)); done {
		return out
	}
	anything := func(t Type) bool { _, ok := t.(Unknown); return ok }
	for _, item := range b.Items {
		if !anything(item) {
			return x.wide(whole)
		}
	}
	switch {
	case anything(b.Rest) && b.Required == 1: // all lists except the empty one
		return NewList(nil, a.Required, Never{})
	case isNever(b.Rest) && len(b.Items) == 0: // the empty list
		return NewList(a.Items, max(a.Required, 1), a.Rest)
	}
	return x.wide(whole)
}

// subtractObjects returns the objects of a that are not objects of b: they lack a property that b requires, or have one of another type.
func (x *Algebra) subtractObjects(a, b Object, whole Type, most int) Type {
	if done, out := x.subtractWhole(whole, b); done {
		return out
	}
	if _, open := b.rest().(Unknown); !open && !declaresAll(a, b) {
		return x.wide(whole)
	}
	var out []Type
	for _, f := range b.Fields {
		have, declared := a.field(f.Name)
		if !declared {
			have = Field{Name: f.Name, Type: a.rest()}
		}
		if f.Required && !have.Required {
			out = append(out, x.Meet(whole, Object{Fields: []Field{{Name: f.Name, Type: Never{}}}}))
		}
		if other := x.subtract(have.Type, f.Type, most); !isNever(other) {
			if _, any := have.Type.(Unknown); any && Same(other, have.Type) && len(b.Fields) > 1 {
				return x.wide(whole) // almost as wide as a, but long
			}
			out = append(out, x.Meet(whole, Object{Fields: []Field{{Name: f.Name, Type: other, Required: true}}}))
		}
	}
	if len(out) > most {
		return x.wide(whole)
	}
	return NewUnion(out...)
}

// declaresAll reports whether b declares every property that an object of a can have.
func declaresAll(a, b Object) bool {
	if !isNever(a.rest()) {
		return false
	}
	for _, f := range a.Fields {
		if _, ok := b.field(f.Name); !ok {
			return false
		}
	}
	return true
}
