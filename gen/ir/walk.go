package ir

// Walk calls f for t and, if f returns true, for the types within t, in their order. It does not follow references.
func Walk(t Type, f func(Type) bool) {
	if t == nil || !f(t) {
		return
	}
	switch t := t.(type) {
	case Array:
		Walk(t.Elem, f)
	case Tuple:
		for _, item := range t.Items {
			Walk(item, f)
		}
		Walk(t.Rest, f)
	case Map:
		Walk(t.Value, f)
	case Object:
		for _, field := range t.Fields {
			Walk(field.Type, f)
		}
		Walk(t.Extra, f)
	case Union:
		for _, m := range t.Members {
			Walk(m, f)
		}
	case Intersection:
		for _, m := range t.Members {
			Walk(m, f)
		}
	}
}

// Replace returns t with each of its direct components replaced by f's result. Unions and intersections are rebuilt, so that they stay in
// normal form.
func (x *Algebra) Replace(t Type, f func(Type) Type) Type {
	switch t := t.(type) {
	case Array:
		return Array{Elem: f(t.Elem)}
	case Tuple:
		items := make([]Type, len(t.Items))
		for i, item := range t.Items {
			items[i] = f(item)
		}
		return NewList(items, t.Required, f(t.Rest))
	case Map:
		return Map{Value: f(t.Value)}
	case Object:
		out := Object{}
		if t.Extra != nil {
			out.Extra = f(t.Extra)
		}
		for _, field := range t.Fields {
			field.Type = f(field.Type)
			if !out.add(field) {
				return Never{}
			}
		}
		return out
	case Union:
		members := make([]Type, len(t.Members))
		for i, m := range t.Members {
			members[i] = f(m)
		}
		return NewUnion(members...)
	case Intersection:
		out := Type(Unknown{})
		for _, m := range t.Members {
			out = x.Meet(out, f(m))
		}
		return out
	}
	return t
}
