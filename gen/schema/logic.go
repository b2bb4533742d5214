package schema

import (
	"slices"

	"github.com/mcpgen/mcpgen/gen/ir"
)

const (
	// maxDependent is how many properties may have others depend on them before only the documentation says so.
	maxDependent = 4
	// maxExclusive is up to how many branches of a oneOf are told from each other.
	maxExclusive = 16
)

// anyOf meets t with the union of v's anyOf.
func (c *converter) anyOf(t ir.Type, v *value, p place) ir.Type {
	branches := c.list(v, "anyOf", p)
	if len(branches) == 0 {
		return t
	}
	types := make([]ir.Type, len(branches))
	for i, sub := range branches {
		types[i] = c.schema(sub, p.at("anyOf", itoa(i)))
	}
	return c.alg.Meet(t, ir.NewUnion(types...))
}

// oneOf is like anyOf, but takes from each branch what another one holds, where that makes no type longer.
func (c *converter) oneOf(t ir.Type, v *value, p place) ir.Type {
	branches := c.list(v, "oneOf", p)
	if len(branches) == 0 {
		return t
	}
	types, exact := make([]ir.Type, len(branches)), make([]bool, len(branches))
	for i, sub := range branches {
		types[i], exact[i] = c.exactly(sub, p.at("oneOf", itoa(i)))
	}
	if len(branches) == 1 {
		return c.alg.Meet(t, types[0])
	}
	alone := make([]ir.Type, len(types))
	for i := range types {
		alone[i] = types[i]
		for j := range types {
			if i == j {
				continue
			}
			switch {
			case len(types) > maxExclusive:
				c.wide()
			case exact[j]:
				alone[i] = c.alg.SubtractFlat(alone[i], c.alg.Restrict(types[j], t))
			default:
				if !never(c.alg.Meet(types[i], types[j])) {
					c.wide()
				}
			}
		}
	}
	return c.alg.Meet(t, ir.NewUnion(alone...))
}

// not takes the values of v's not from t.
func (c *converter) not(t ir.Type, v *value, p place) ir.Type {
	sub := v.get("not")
	if sub == nil {
		return t
	}
	if sub.kind != kindObject && sub.kind != kindBool {
		c.ignored("not", "is not a schema", p)
		return t
	}
	taken, exact := c.exactly(sub, p.at("not"))
	if !exact {
		c.wide()
		return c.withoutKinds(t, sub, p)
	}
	return c.alg.Subtract(t, taken)
}

// withoutKinds takes from t the kinds of values that sub accepts whatever they are: a schema that speaks of strings
// accepts all numbers.
func (c *converter) withoutKinds(t ir.Type, sub *value, p place) ir.Type {
	if sub.kind != kindObject {
		return t
	}
	for _, m := range sub.members {
		if !slices.Contains(objectKeywords, m.key) && !slices.Contains(arrayKeywords, m.key) &&
			!slices.Contains(stringKeywords, m.key) && !slices.Contains(numberKeywords, m.key) && m.key != "type" {
			return t
		}
	}
	allowed := c.typesOf(sub, p.at("not"))
	for _, k := range []struct {
		kind     kinds
		keywords []string
		typ      ir.Type
	}{
		{kObject, objectKeywords, ir.Map{Value: ir.Unknown{}}}, {kArray, arrayKeywords, ir.Array{Elem: ir.Unknown{}}},
		{kString, stringKeywords, ir.String{}}, {kNumber, numberKeywords, ir.Number{}},
		{kBool, nil, ir.Bool{}}, {kNull, nil, ir.Null{}},
	} {
		if allowed&k.kind != 0 && !hasAny(sub, k.keywords) {
			t = c.alg.Subtract(t, k.typ)
		}
	}
	return t
}

// conditional meets t with if, then and else: what fits "if" and "then", or fits "else" and not "if".
func (c *converter) conditional(t ir.Type, v *value, p place) ir.Type {
	condition := c.keyword(v, p, "if", draft07)
	then, otherwise := v.get("then"), v.get("else")
	if condition == nil || (then == nil && otherwise == nil) {
		return t
	}
	holds, exact := c.exactly(condition, p.at("if"))
	yes, no := ir.Type(ir.Unknown{}), ir.Type(ir.Unknown{})
	if then != nil {
		yes = c.schema(then, p.at("then"))
	}
	if otherwise != nil {
		no = c.schema(otherwise, p.at("else"))
	}
	around := c.around(t, holds)
	yes = c.alg.Meet(c.alg.Meet(around, holds), yes)
	if exact {
		no = c.alg.Meet(c.alg.Subtract(around, holds), no)
	} else {
		c.wide()
		no = c.alg.Meet(around, no)
	}
	return c.alg.Meet(t, ir.NewUnion(yes, no))
}

// around is a part of t that is enough to tell what fits a condition: t's kinds, and of an object only the fields
// that the condition speaks of. All values of t are values of it.
func (c *converter) around(t, condition ir.Type) ir.Type {
	t = c.resolved(t)
	if i, ok := t.(ir.Intersection); ok {
		t = c.resolved(i.Members[0])
	}
	o, ok := t.(ir.Object)
	if !ok {
		return c.alg.Restrict(ir.Unknown{}, t)
	}
	var names []string
	members := []ir.Type{condition}
	if u, ok := condition.(ir.Union); ok {
		members = u.Members
	}
	for _, m := range members {
		if d, ok := c.resolved(m).(ir.Object); ok {
			for _, f := range d.Fields {
				names = append(names, f.Name)
			}
		}
	}
	out := ir.Object{}
	for _, f := range o.Fields {
		if slices.Contains(names, f.Name) {
			f.Doc = ir.Doc{}
			out.Fields = append(out.Fields, f)
		}
	}
	if len(out.Fields) == 0 {
		return ir.Map{Value: ir.Unknown{}}
	}
	return out
}

// dependent meets t with dependentRequired, dependentSchemas and the older dependencies.
func (c *converter) dependent(t ir.Type, v *value, p place) ir.Type {
	n := 0
	for _, keyword := range []string{"dependentRequired", "dependentSchemas", "dependencies"} {
		list := v.get(keyword)
		if list == nil {
			continue
		}
		if (keyword == "dependencies") != (p.res.draft < draft201909) {
			c.wide() // not of this dialect, but some validators check it
			continue
		}
		if list.kind != kindObject {
			c.ignored(keyword, "is not an object", p)
			continue
		}
		for _, m := range list.members {
			if n++; n > maxDependent || m.lossy {
				c.wide()
				continue
			}
			t = c.alg.Meet(t, c.dependency(m, p.at(keyword, m.key)))
		}
	}
	return t
}

// dependency is the type of what has no such property, or has it and fits.
func (c *converter) dependency(m member, p place) ir.Type {
	absent := ir.Object{Fields: []ir.Field{{Name: m.key, Type: ir.Never{}}}}
	present := ir.Type(ir.Object{Fields: []ir.Field{{Name: m.key, Type: ir.Unknown{}, Required: true}}})
	switch m.value.kind {
	case kindArray:
		needs := ir.Object{}
		for _, item := range m.value.items {
			if item.kind == kindString && !item.lossy && item.text != m.key {
				needs.Fields = append(needs.Fields, ir.Field{Name: item.text, Type: ir.Unknown{}, Required: true})
			}
		}
		if len(needs.Fields) == 0 {
			return ir.Unknown{}
		}
		present = c.alg.Meet(present, needs)
	case kindString: // draft 3
		present = c.alg.Meet(present, ir.Object{Fields: []ir.Field{{Name: m.value.text, Type: ir.Unknown{}, Required: true}}})
	default:
		needs := c.schema(m.value, p)
		if _, any := needs.(ir.Unknown); any {
			return needs
		}
		present = c.alg.Meet(present, needs)
	}
	return ir.NewUnion(append([]ir.Type{absent, present}, ir.AnyExcept(absent)...)...)
}
