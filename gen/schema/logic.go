package schema

import (
	"slices"
	"strconv"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

const (
	// maxDependent bounds the properties whose dependencies a type expresses.
	maxDependent = 4
	// maxExclusive bounds the branches of a oneOf that are subtracted from each other.
	maxExclusive = 16
)

// anyOf meets t with the union of v's anyOf.
func (c *converter) anyOf(t ir.Type, v *jsonschema.Value, p place) ir.Type {
	branches := c.list(v, "anyOf", p)
	if len(branches) == 0 {
		return t
	}
	types := make([]ir.Type, len(branches))
	for i, sub := range branches {
		types[i] = c.schema(sub, p.at("anyOf", strconv.Itoa(i)))
	}
	return c.alg.Meet(t, ir.NewUnion(types...))
}

// oneOf is like anyOf, but subtracts from each branch the values of the others, unless that makes a type longer.
func (c *converter) oneOf(t ir.Type, v *jsonschema.Value, p place) ir.Type {
	branches := c.list(v, "oneOf", p)
	if len(branches) == 0 {
		return t
	}
	types, exact := make([]ir.Type, len(branches)), make([]bool, len(branches))
	for i, sub := range branches {
		types[i], exact[i] = c.exactly(sub, p.at("oneOf", strconv.Itoa(i)))
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
		if never(alone[i]) && ir.Described(types[i]) && !allDescribed(types) { // whoever wrote it meant an anyOf
			c.wide()
			alone[i] = types[i]
		}
	}
	return c.alg.Meet(t, ir.NewUnion(alone...))
}

func allDescribed(types []ir.Type) bool {
	return !slices.ContainsFunc(types, func(t ir.Type) bool { return !ir.Described(t) })
}

// not subtracts the values of v's not from t.
func (c *converter) not(t ir.Type, v *jsonschema.Value, p place) ir.Type {
	sub := v.Get("not")
	if sub == nil {
		return t
	}
	if sub.Kind != jsonschema.KindObject && sub.Kind != jsonschema.KindBool {
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

// withoutKinds subtracts from t the kinds of which sub accepts every value: a schema with keywords about strings accepts all
// numbers.
func (c *converter) withoutKinds(t ir.Type, sub *jsonschema.Value, p place) ir.Type {
	if sub.Kind != jsonschema.KindObject {
		return t
	}
	for _, m := range sub.Members {
		if !slices.Contains(objectKeywords, m.Key) && !slices.Contains(arrayKeywords, m.Key) &&
			!slices.Contains(stringKeywords, m.Key) && !slices.Contains(numberKeywords, m.Key) && m.Key != "type" {
			return t
		}
	}
	allowed := c.typesOf(sub, p.at("not"))
	for _, k := range []struct {
		kind     jsonschema.Types
		keywords []string
		typ      ir.Type
	}{
		{jsonschema.Object, objectKeywords, ir.Map{Value: ir.Unknown{}}}, {jsonschema.Array, arrayKeywords, ir.Array{Elem: ir.Unknown{}}},
		{jsonschema.String, stringKeywords, ir.String{}}, {jsonschema.Fraction, numberKeywords, ir.Number{}},
		{jsonschema.Boolean, nil, ir.Bool{}}, {jsonschema.Null, nil, ir.Null{}},
	} {
		if allowed&k.kind != 0 && !sub.Has(k.keywords...) {
			t = c.alg.Subtract(t, k.typ)
		}
	}
	return t
}

// conditional meets t with the values that match "if" and "then", or match "else" and not "if".
func (c *converter) conditional(t ir.Type, v *jsonschema.Value, p place) ir.Type {
	condition := c.keyword(v, p, "if", jsonschema.Draft07)
	then, otherwise := v.Get("then"), v.Get("else")
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
	return c.alg.Meet(t, ir.NewPlainUnion(yes, no))
}

// around returns a wider type than t that still decides a condition: t's kinds and, of an object, only the fields that the
// condition mentions.
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
func (c *converter) dependent(t ir.Type, v *jsonschema.Value, p place) ir.Type {
	n := 0
	for _, keyword := range []string{"dependentRequired", "dependentSchemas", "dependencies"} {
		list := v.Get(keyword)
		if list == nil {
			continue
		}
		if (keyword == "dependencies") != (p.res.Draft < jsonschema.Draft201909) {
			c.wide() // another dialect's, which some validators apply all the same
			continue
		}
		if list.Kind != jsonschema.KindObject {
			c.ignored(keyword, "is not an object", p)
			continue
		}
		for _, m := range list.Members {
			if n++; n > maxDependent || m.Lossy {
				c.wide()
				continue
			}
			t = c.alg.Meet(t, c.dependency(m, p.at(keyword, m.Key)))
		}
	}
	return t
}

// dependency returns the type of the values that do not have the property m.Key, or have it and match m.Value.
func (c *converter) dependency(m jsonschema.Member, p place) ir.Type {
	absent := ir.Object{Fields: []ir.Field{{Name: m.Key, Type: ir.Never{}}}}
	present := ir.Type(ir.Object{Fields: []ir.Field{{Name: m.Key, Type: ir.Unknown{}, Required: true}}})
	switch m.Value.Kind {
	case jsonschema.KindArray:
		needs := ir.Object{}
		for _, item := range m.Value.Items {
			if item.Kind == jsonschema.KindString && !item.Lossy && item.Text != m.Key {
				needs.Fields = append(needs.Fields, ir.Field{Name: item.Text, Type: ir.Unknown{}, Required: true})
			}
		}
		if len(needs.Fields) == 0 {
			return ir.Unknown{}
		}
		present = c.alg.Meet(present, needs)
	case jsonschema.KindString: // draft 3
		present = c.alg.Meet(present, ir.Object{Fields: []ir.Field{{Name: m.Value.Text, Type: ir.Unknown{}, Required: true}}})
	default:
		needs := c.schema(m.Value, p)
		if _, any := needs.(ir.Unknown); any {
			return needs
		}
		present = c.alg.Meet(present, needs)
	}
	return ir.NewUnion(append([]ir.Type{absent, present}, ir.AnyExcept(absent)...)...)
}
