package ir

const (
	// defaultSteps is the work of an Algebra that was given none.
	defaultSteps = 20_000
	// maxDepth bounds how far types inside types are followed.
	maxDepth = 200
	// maxDistribute bounds how many branches an intersection may have when its unions are multiplied out.
	maxDistribute = 64
	// maxPairs bounds how many pairs of objects two unions are multiplied out to, to find those that exclude each other.
	maxPairs = 64
)

// Algebra computes with types. Its results hold every value they should; where they hold more, Widened grows. The zero
// value follows no references and is ready for use; it is not safe for concurrent use.
type Algebra struct {
	// Resolve returns what a reference stands for; ok is false where that is not known. Nil: it never is.
	Resolve func(Ref) (t Type, ok bool)
	// Within reports whether every value of a is known to be one of b. Nil: nothing is known of references.
	Within func(a, b Ref) bool
	// Steps bounds the work that is done; 0 means 20,000. Results of what is asked afterwards are wide.
	Steps int
	// Widened counts results that hold more values than they should.
	Widened int

	spent int
	depth int
	open  map[[2]string]bool // pairs with references that are being met
}

// Meet returns a type that holds every value that both a and b hold, and as few others as it can.
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

// kinds returns the kinds of the values that t can hold, and perhaps others.
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

// members returns t's members where it is a union, and t alone otherwise.
func members(t Type) []Type {
	if u, ok := t.(Union); ok {
		return u.Members
	}
	return []Type{t}
}

// expanded is like members, and makes a union of Unknown.
func expanded(t Type) []Type {
	if _, ok := t.(Unknown); ok {
		return everyKind
	}
	return members(t)
}

func (x *Algebra) limit() int {
	if x.Steps == 0 {
		return defaultSteps
	}
	return x.Steps
}

// begin takes one step of work and one level of depth. It reports false where there is none left.
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

// Exhausted reports whether all steps are used, so that results are wide.
func (x *Algebra) Exhausted() bool { return x.spent >= x.limit() }
