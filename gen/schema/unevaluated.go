package schema

import (
	"github.com/mcpgen/mcpgen/gen/ir"
)

// unevaluated meets t with unevaluatedProperties and unevaluatedItems. What other keywords of v may look at is found
// without regard to whether they do, which is wider.
func (c *converter) unevaluated(t ir.Type, v *value, p place) ir.Type {
	props, items := c.keyword(v, p, "unevaluatedProperties", draft201909), c.keyword(v, p, "unevaluatedItems", draft201909)
	if props == nil && items == nil {
		return t
	}
	e := evaluation{c: c, seen: map[*value]bool{}, names: map[string]bool{}}
	e.look(v, p, true)
	if e.choices || e.allProperties || e.allItems {
		c.wide()
	}
	if props != nil && !e.allProperties {
		o := ir.Object{Extra: c.schema(props, p.at("unevaluatedProperties"))}
		for _, name := range e.order {
			o.Fields = append(o.Fields, ir.Field{Name: name, Type: ir.Unknown{}})
		}
		o.Extra = ir.NewUnion(append(e.patterns, o.Extra)...)
		t = c.alg.Meet(t, ir.NewUnion(append([]ir.Type{o}, ir.AnyExcept(o)...)...))
	}
	if items != nil && !e.allItems {
		rest := c.schema(items, p.at("unevaluatedItems"))
		prefix := make([]ir.Type, min(e.items, maxTuple+1))
		for i := range prefix {
			prefix[i] = ir.Unknown{}
		}
		list := ir.NewList(prefix, 0, rest)
		if e.items > maxTuple {
			list = ir.Array{Elem: ir.Unknown{}}
		}
		t = c.alg.Meet(t, ir.NewUnion(append([]ir.Type{list}, ir.AnyExcept(list)...)...))
	}
	return t
}

// evaluation collects which properties and items a schema and those applied to the same value look at.
type evaluation struct {
	c        *converter
	seen     map[*value]bool
	names    map[string]bool
	order    []string
	patterns []ir.Type // types of properties that are looked at by pattern
	items    int       // how many of the first items

	allProperties, allItems bool
	choices                 bool // some of it only where a branch applies
}

func (e *evaluation) look(v *value, p place, outermost bool) {
	if v == nil || v.kind != kindObject || e.seen[v] || len(e.seen) > maxSteps {
		return
	}
	e.seen[v] = true
	if res := e.c.source.starts[v]; res != nil {
		p.res = res
	}
	p.scope = e.c.enter(p.scope, p.res)
	if p.res.draft == draftUnknown {
		e.allProperties, e.allItems = true, true
		return
	}
	if ref := v.get("$ref"); ref != nil {
		e.reference(ref, p.at("$ref"))
		if p.res.draft < draft201909 {
			return
		}
	}
	e.own(v, p, outermost)
	for _, keyword := range []string{"$dynamicRef", "$recursiveRef"} {
		if ref := v.get(keyword); ref != nil {
			e.reference(ref, p.at(keyword))
		}
	}
	for _, m := range v.members {
		switch m.key {
		case "allOf", "anyOf", "oneOf":
			e.choices = e.choices || (m.key != "allOf" && len(m.value.items) > 1)
			for i, sub := range m.value.items {
				e.look(sub, p.at(m.key, itoa(i)), false)
			}
		case "if", "then", "else":
			e.choices = true
			e.look(m.value, p.at(m.key), false)
		case "dependentSchemas", "dependencies":
			e.choices = true
			for _, sub := range m.value.members {
				e.look(sub.value, p.at(m.key, sub.key), false)
			}
		}
	}
}

func (e *evaluation) reference(ref *value, p place) {
	target, at, ok := e.c.target(ref, p)
	if !ok {
		e.allProperties, e.allItems = true, true
		return
	}
	e.look(target, at, false)
}

// own looks at the keywords of v itself. Those of the outermost schema that say unevaluated look at nothing before.
func (e *evaluation) own(v *value, p place, outermost bool) {
	if props := v.get("properties"); props != nil {
		for _, m := range props.members {
			if !e.names[m.key] {
				e.names[m.key] = true
				e.order = append(e.order, m.key)
			}
			e.allProperties = e.allProperties || m.lossy
		}
	}
	for _, pattern := range e.c.patterns(v, p) {
		e.patterns = append(e.patterns, pattern.typ)
		e.c.wide()
	}
	if v.get("additionalProperties") != nil || (!outermost && v.get("unevaluatedProperties") != nil) {
		e.allProperties = true
	}
	items := v.get("items")
	switch {
	case items != nil && (items.kind != kindArray || p.res.draft >= draft202012):
		e.allItems = true
	case items != nil:
		e.items = max(e.items, len(items.items))
		e.allItems = e.allItems || v.get("additionalItems") != nil
	}
	if prefix := v.get("prefixItems"); prefix != nil {
		e.items = max(e.items, len(prefix.items))
	}
	if v.get("contains") != nil || (!outermost && v.get("unevaluatedItems") != nil) {
		e.allItems = true // contains looks at the items that fit it, wherever they are
	}
}
