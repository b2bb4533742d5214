package ir

// Meet returns a type that holds every value that both a and b hold, and as few others as possible.
func (x *Algebra) Meet(a, b Type) Type {
	switch a.(type) {
	case Unknown:
		return b
	case Never:
		return a
	}
	switch b.(type) {
	case Unknown:
		return a
	case Never:
		return b
	}
	if x.kinds(a)&x.kinds(b) == 0 {
		return Never{}
	}
	if !x.begin() {
		return a
	}
	defer x.end()
	if Same(a, b) {
		return a
	}
	if r, ok := a.(Ref); ok {
		return x.meetRef(r, b)
	}
	if r, ok := b.(Ref); ok {
		return x.meetRef(r, a)
	}
	if i, ok := a.(Intersection); ok {
		return x.meetIntersection(i, b)
	}
	if i, ok := b.(Intersection); ok {
		return x.meetIntersection(i, a)
	}
	if u, ok := a.(Union); ok {
		return x.meetUnion(u, b, false)
	}
	if u, ok := b.(Union); ok {
		return x.meetUnion(u, a, true)
	}
	return x.meetKinds(a, b)
}

// meetRef keeps the reference if meeting t does not change the type.
func (x *Algebra) meetRef(r Ref, t Type) Type {
	if other, ok := t.(Ref); ok && x.Within != nil {
		switch {
		case x.Within(r, other):
			return r
		case x.Within(other, r):
			return other
		}
	}
	resolved, ok := x.resolve(r)
	pair := [2]string{Key(r), Key(t)}
	if !ok || x.open[pair] {
		return x.intersect(r, t)
	}
	if x.open == nil {
		x.open = map[[2]string]bool{}
	}
	x.open[pair] = true
	defer delete(x.open, pair)
	met := x.Meet(resolved, t)
	switch {
	case Same(met, resolved):
		return r
	case Same(met, t):
		return t
	default:
		if i, ok := met.(Intersection); ok && Same(i.Members[0], resolved) {
			return x.intersect(append([]Type{r}, i.Members[1:]...)...)
		}
	}
	return met
}

// meetIntersection meets t with the first member with which it can be merged.
func (x *Algebra) meetIntersection(i Intersection, t Type) Type {
	if other, ok := t.(Intersection); ok {
		out := Type(i)
		for _, m := range other.Members {
			out = x.Meet(out, m)
		}
		return out
	}
	if u, ok := t.(Union); ok {
		if left := x.overlapping(u.Members, i); len(left) < len(u.Members) {
			return x.Meet(i, NewUnion(left...))
		}
	}
	for n, m := range i.Members {
		if !mergeable(m) || !mergeable(t) {
			continue
		}
		met := x.Meet(m, t)
		if _, none := met.(Never); none {
			return met
		}
		out := append([]Type{}, i.Members...)
		out[n] = met
		return x.intersect(out...)
	}
	return x.intersect(append(append([]Type{}, i.Members...), t)...)
}

// mergeable reports whether two types of this form meet in another type of this form.
func mergeable(t Type) bool {
	switch t.(type) {
	case Ref, Union, Intersection:
		return false
	}
	return true
}

// overlapping returns the types that can hold a value of one of t's kinds.
func (x *Algebra) overlapping(types []Type, t Type) []Type {
	mask := x.kinds(t)
	var out []Type
	for _, m := range types {
		if x.kinds(m)&mask != 0 {
			out = append(out, m)
		}
	}
	return out
}

// meetUnion multiplies out u, unless that would repeat the fields of an object in every member. If flipped is set, t's fields come first.
func (x *Algebra) meetUnion(u Union, t Type, flipped bool) Type {
	us := x.overlapping(u.Members, t)
	ts := x.overlapping(members(t), u)
	objectsU, restU := x.split(us)
	objectsT, restT := x.split(ts)
	var out []Type
	pairs := func(as, bs []Type) {
		for _, a := range as {
			for _, b := range bs {
				if a, ok := a.(Literal); ok {
					if b, ok := b.(Literal); ok { // a fast path for long enumerations
						if sameLiteral(a, b) {
							out = append(out, a)
						}
						continue
					}
				}
				out = append(out, x.Meet(a, b))
			}
		}
	}
	pairs(restU, ts)
	pairs(objectsU, restT)
	if len(objectsU) > 0 && len(objectsT) > 0 {
		if flipped {
			objectsU, objectsT = objectsT, objectsU
		}
		out = append(out, x.meetObjectUnions(objectsU, objectsT))
	}
	return NewUnion(out...)
}

// split separates the types that can hold objects from the others.
func (x *Algebra) split(types []Type) (objects, rest []Type) {
	for _, t := range types {
		if x.kinds(t)&kObject != 0 {
			objects = append(objects, t)
		} else {
			rest = append(rest, t)
		}
	}
	return objects, rest
}

// meetObjectUnions meets two unions of objects. It drops pairs that exclude each other, and multiplies the others out if
// that repeats no fields; otherwise the result is an intersection.
func (x *Algebra) meetObjectUnions(as, bs []Type) Type {
	if len(as)*len(bs) > maxPairs {
		return x.intersect(NewUnion(as...), NewUnion(bs...))
	}
	var out []Type
	usedA, usedB := make([]bool, len(as)), make([]bool, len(bs))
	for i, a := range as {
		for j, b := range bs {
			met := x.Meet(a, b)
			if _, none := met.(Never); none {
				continue
			}
			usedA[i], usedB[j] = true, true
			out = append(out, met)
		}
	}
	as, bs = used(as, usedA), used(bs, usedB)
	product := NewUnion(out...)
	if len(members(product)) <= 1 {
		return product
	}
	for _, side := range [][]Type{as, bs} {
		if t := NewUnion(side...); Same(product, t) {
			return t
		}
	}
	if weight(out) <= weight(as)+weight(bs)+2 {
		return product
	}
	a, b := NewUnion(as...), NewUnion(bs...)
	if len(as) > 1 && len(bs) == 1 { // the common part comes first
		a, b = b, a
	}
	return x.intersect(a, b)
}

func used(types []Type, keep []bool) []Type {
	var out []Type
	for i, t := range types {
		if keep[i] {
			out = append(out, t)
		}
	}
	return out
}

// weight counts the fields that would be printed.
func weight(types []Type) int {
	n := 0
	for _, t := range types {
		switch t := t.(type) {
		case Object:
			n += len(t.Fields)
		case Intersection:
			n += weight(t.Members)
		case Union:
			n += weight(t.Members)
		case Ref:
			n++
		}
	}
	return n
}

// intersect returns the intersection of types. It leaves out members that would give the product more than maxDistribute branches, because
// a compiler would refuse it.
func (x *Algebra) intersect(types ...Type) Type {
	var members []Type
	product := 1
	seen := map[string]bool{}
	var add func(t Type) bool
	add = func(t Type) bool {
		factor := 1
		switch t := t.(type) {
		case Unknown:
			return true
		case Never:
			return false
		case Intersection:
			for _, m := range t.Members {
				if !add(m) {
					return false
				}
			}
			return true
		case Union:
			factor = len(t.Members)
		}
		if key := Key(t); !seen[key] {
			if product*factor > maxDistribute && len(members) > 0 {
				x.Widened++
				return true
			}
			seen[key] = true
			product *= factor
			members = append(members, t)
		}
		return true
	}
	for _, t := range types {
		if !add(t) {
			return Never{}
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
