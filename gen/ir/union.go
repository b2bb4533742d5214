package ir

import "slices"

// NewUnion returns the type of the values of any of types. It flattens unions, and drops repeated members and those that
// another member covers.
func NewUnion(types ...Type) Type {
	u := union{seen: map[string]bool{}}
	for _, t := range types {
		if !u.add(t) {
			return Unknown{}
		}
	}
	u.mergeBools()
	members := slices.DeleteFunc(u.members, u.covered)
	switch len(members) {
	case 0:
		return Never{}
	case 1:
		return members[0]
	}
	if u.everyKind() {
		return Unknown{}
	}
	return Union{Members: members}
}

type union struct {
	members []Type
	seen    map[string]bool
}

// add adds a member. It reports false if t is Unknown, which the union then is too.
func (u *union) add(t Type) bool {
	switch t := t.(type) {
	case Unknown:
		return false
	case Never:
		return true
	case Union:
		for _, m := range t.Members {
			if !u.add(m) {
				return false
			}
		}
		return true
	}
	if key := Key(t); !u.seen[key] {
		u.seen[key] = true
		u.members = append(u.members, t)
	}
	return true
}

func (u *union) has(t Type) bool { return u.seen[Key(t)] }

// mergeBools replaces the literals true and false by Bool.
func (u *union) mergeBools() {
	yes, no := Literal{Kind: LiteralBool, Bool: true}, Literal{Kind: LiteralBool}
	if !u.has(yes) || !u.has(no) || u.has(Bool{}) {
		return
	}
	for i, m := range u.members {
		if m == Type(yes) || m == Type(no) {
			u.members[i] = Bool{} // in the place of the first of them
			break
		}
	}
	u.seen[Key(Bool{})] = true
}

// covered reports whether another member holds every value of t.
func (u *union) covered(t Type) bool {
	switch t := t.(type) {
	case Literal:
		switch t.Kind {
		case LiteralString:
			return u.has(String{})
		case LiteralBool:
			return u.has(Bool{})
		}
		return u.has(Number{}) || (u.has(Number{Integer: true}) && isInteger(t.Text))
	case Number:
		return t.Integer && u.has(Number{})
	case Array:
		_, all := t.Elem.(Unknown)
		return !all && u.has(anyArray)
	case Tuple:
		return u.has(anyArray)
	case Map:
		_, all := t.Value.(Unknown)
		return !all && u.has(anyObject)
	case Object:
		return u.has(anyObject)
	}
	return false
}

func (u *union) everyKind() bool {
	return !slices.ContainsFunc(everyKind, func(t Type) bool { return !u.has(t) })
}

var (
	anyArray  = Array{Elem: Unknown{}}
	anyObject = Map{Value: Unknown{}}
	// everyKind are the types whose union is Unknown.
	everyKind = []Type{anyObject, anyArray, String{}, Number{}, Bool{}, Null{}}
)

// AnyExcept returns the types of all values that are not of the JSON kind of t, which is one of Map, Object, Array, Tuple,
// String, Number, Bool and Null.
func AnyExcept(t Type) []Type {
	var a Algebra
	mask := a.kinds(t)
	var out []Type
	for _, k := range everyKind {
		if a.kinds(k)&mask == 0 {
			out = append(out, k)
		}
	}
	return out
}

// Nullable reports whether t holds null.
func (s *Schema) Nullable(t Type) bool { return s.nullable(t, 0) }

func (s *Schema) nullable(t Type, depth int) bool {
	if depth > maxDepth {
		return true
	}
	holds := func(m Type) bool { return s.nullable(m, depth+1) }
	switch t := s.Resolve(t).(type) {
	case Null, Unknown:
		return true
	case Union:
		return slices.ContainsFunc(t.Members, holds)
	case Intersection:
		return !slices.ContainsFunc(t.Members, func(m Type) bool { return !holds(m) })
	}
	return false
}
