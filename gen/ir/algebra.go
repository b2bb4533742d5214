package ir

const (
	// defaultSteps is the default of Algebra.Steps.
	defaultSteps = 20_000
	// maxDepth bounds how deep nested types are followed.
	maxDepth = 200
	// maxDistribute bounds the number of branches when the unions in an intersection are multiplied out.
	maxDistribute = 64
	// maxPairs bounds the number of pairs of objects from two unions that are compared to find those that exclude each other.
	maxPairs = 64
)

// Algebra computes with types. Its results never lack a value that they must hold. If a result holds too many, Widened grows. The zero
// value is ready to use and follows no references. An Algebra is not safe for concurrent use.
type Algebra struct {
	// Resolve returns the type that a reference stands for; ok is false if it is unknown. Nil: no reference is known.
	Resolve func(Ref) (t Type, ok bool)
	// Within reports whether every value of a is known to be a value of b. Nil: nothing is known.
	Within func(a, b Ref) bool
	// Steps bounds the work; 0 means 20,000. Results after that are wide.
	Steps int
	// Widened counts results that hold too many values.
	Widened int

	spent int
	depth int
	open  map[[2]string]bool // pairs with references that are being met
}

// Meet returns a type that holds every value that both a and b hold, and as few others as possible.
func Meet(a, b Type) Type {
	var x Algebra
	return x.Meet(a, b)
}

// kinds is a set of JSON kinds.
type kinds uint8

const (
	kNull kinds = 1 << iota
	kBool
	kNumber
	kString
	kArray
	kObject
	kAll = kNull | kBool | kNumber | kString | kArray | kObject
)

// kinds returns all kinds of values that t can hold.
func (x *Algebra) kinds(t Type) kinds { return x.kindsAt(t, 0) }

func (x *Algebra) kindsAt(t Type, depth int) kinds {
	switch t := t.(type) {
	case Never:
		return 0
	case Null:
		return kNull
	case Bool:
		return kBool
	case Number:
		return kNumber
	case String:
		return kString
	case Literal:
		return [...]kinds{LiteralString: kString, LiteralNumber: kNumber, LiteralBool: kBool}[t.Kind]
	case Array, Tuple:
		return kArray
	case Map, Object:
		return kObject
	}
	if depth > 8 {
		return kAll
	}
	switch t := t.(type) {
	case Union:
		out := kinds(0)
		for _, m := range t.Members {
			if out |= x.kindsAt(m, depth+1); out == kAll {
				break
			}
		}
		return out
	case Intersection:
		out := kAll
		for _, m := range t.Members {
			out &= x.kindsAt(m, depth+1)
		}
		return out
	case Ref:
		if r, ok := x.resolve(t); ok {
			return x.kindsAt(r, depth+1)
		}
	}
	return kAll
}

func (x *Algebra) resolve(r Ref) (Type, bool) {
	if x.Resolve == nil {
		return nil, false
	}
	return x.Resolve(r)
}

// Restrict drops the members of unions that hold no value of the kinds of like. The result holds every value that t
// and like both hold.
func (x *Algebra) Restrict(t, like Type) Type {
	mask := x.kinds(like)
	var out []Type
	for _, m := range expanded(t) {
		if x.kinds(m)&mask != 0 {
			out = append(out, m)
		}
	}
	if _, unknown := t.(Unknown); unknown && mask == kAll {
		return t
	}
	return NewUnion(out...)
}

// members returns the members of a union, or any other type itself.
func members(t Type) []Type {
	if u, ok := t.(Union); ok {
		return u.Members
	}
	return []Type{t}
}

// expanded is like members, but replaces Unknown by a type for every kind.
func expanded(t Type) []Type {
	var out []Type
	for _, m := range members(t) {
		if _, ok := m.(Unknown); ok {
			out = append(out, everyKind...)
		} else {
			out = append(out, m)
		}
	}
	return out
}

func (x *Algebra) limit() int {
	if x.Steps == 0 {
		return defaultSteps
	}
	return x.Steps
}

// begin counts one step of work and one level of depth. It reports false if none is left.
func (x *Algebra) begin() bool {
	if x.Exhausted() || x.depth >= maxDepth {
		x.Widened++
		return false
	}
	x.spent++
	x.depth++
	return true
}

func (x *Algebra) end() { x.depth-- }

// Exhausted reports whether all steps are used. Results are then wide.
func (x *Algebra) Exhausted() bool { return x.spent >= x.limit() }
