package ir

import "slices"

// NewUnion returns the type of the values of any of types. It flattens unions, and drops repeated members and those that another member
// covers, except those that tell a reader something; see [Described]. If it holds every value, the result is Unknown, or a union of such
// members and Unknown.
func NewUnion(types ...Type) Type { return newUnion(types, Described) }

// NewPlainUnion is like [NewUnion], but drops every member that another one covers.
func NewPlainUnion(types ...Type) Type {
	return newUnion(types, func(Type) bool { return false })
}

// newUnion builds a union of types. A member for which kept is true stays beside a wider one.
func newUnion(types []Type, kept func(Type) bool) Type {
	u := union{seen: map[string]bool{}}
	for _, t := range types {
		u.add(t)
	}
	u.mergeBools()
	anything := u.anything || u.everyKind()
	members := slices.DeleteFunc(u.members, func(t Type) bool { return (anything || u.covered(t)) && !kept(t) })
	if anything {
		members = append(members, Unknown{})
	}
	switch len(members) {
	case 0:
		return Never{}
	case 1:
		return members[0]
	}
	return Union{Members: members}
}

// Described reports whether t says more about its values than their kind: it has properties with a type or a text, or constants that are
// texts or numbers.
func Described(t Type) bool {
	switch t := t.(type) {
	case Literal:
		return t.Kind != LiteralBool
	case Array:
		return Described(t.Elem)
	case Tuple:
		return slices.ContainsFunc(t.Items, Described) || Described(t.Rest)
	case Map:
		return Described(t.Value)
	case Object:
		return slices.ContainsFunc(t.Fields, Field.described) || (t.Extra != nil && Described(t.Extra))
	case Union:
		return slices.ContainsFunc(t.Members, Described)
	case Ref, Intersection:
		return true
	}
	return false
}

func (f Field) described() bool {
	switch f.Type.(type) {
	case Unknown:
		return f.Doc.Description != "" || len(f.Doc.Limits) > 0
	case Never:
		return false
	}
	return true
}

type union struct {
	members []Type
	seen    map[string]bool
	// anything is set once a member is Unknown, which members then does not contain.
	anything bool
}

func (u *union) add(t Type) {
	switch t := t.(type) {
	case Unknown:
		u.anything = true
		return
	case Never:
		return
	case Union:
		for _, m := range t.Members {
			u.add(m)
		}
		return
	}
	if key := Key(t); !u.seen[key] {
		u.seen[key] = true
		u.members = append(u.members, t)
	}
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
			u.members[i] = Bool{} // in place of the first of them
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
	// everyKind lists types whose union is Unknown.
	everyKind = []Type{anyObject, anyArray, String{}, Number{}, Bool{}, Null{}}
)

// AnyExcept returns types for all values that are not of the JSON kind of t. t is a Map, Object, Array, Tuple, String, Number, Bool or
// Null, or Never to get the types of every kind.
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

// Nullable reports whether t can be null.
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
