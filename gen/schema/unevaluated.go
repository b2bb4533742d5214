package schema

import (
	"strconv"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// unevaluated meets t with unevaluatedProperties and unevaluatedItems. A property or item counts as evaluated if any
// keyword of v may evaluate it, which is wider.
func (c *converter) unevaluated(t ir.Type, v *jsonschema.Value, p place) ir.Type {
	props, items := c.keyword(v, p, "unevaluatedProperties", jsonschema.Draft201909), c.keyword(v, p, "unevaluatedItems", jsonschema.Draft201909)
	if props == nil && items == nil {
		return t
	}
	e := evaluation{c: c, seen: map[*jsonschema.Value]bool{}, names: map[string]bool{}}
	e.visit(v, p, true)
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

// evaluation collects the properties and items that a schema may evaluate, with the schemas it applies to the same value.
type evaluation struct {
	c        *converter
	seen     map[*jsonschema.Value]bool
	names    map[string]bool
	order    []string
	patterns []ir.Type // types of properties that are evaluated by a pattern
	items    int       // how many of the first items are evaluated

	allProperties, allItems bool
	choices                 bool // whether some of it depends on a branch
}

func (e *evaluation) visit(v *jsonschema.Value, p place, outermost bool) {
	if v == nil || v.Kind != jsonschema.KindObject || e.seen[v] || len(e.seen) > maxSteps {
		return
	}
	e.seen[v] = true
	if res := e.c.source.Starts[v]; res != nil {
		p.res = res
	}
	p.scope = e.c.enter(p.scope, p.res)
	if p.res.Draft == jsonschema.DraftUnknown {
		e.allProperties, e.allItems = true, true
		return
	}
	if ref := v.Get("$ref"); ref != nil {
		e.reference(ref, p.at("$ref"))
		if p.res.Draft < jsonschema.Draft201909 {
			return
		}
	}
	e.own(v, p, outermost)
	for _, keyword := range []string{"$dynamicRef", "$recursiveRef"} {
		if ref := v.Get(keyword); ref != nil {
			e.reference(ref, p.at(keyword))
		}
	}
	for _, m := range v.Members {
		switch m.Key {
		case "allOf", "anyOf", "oneOf":
			e.choices = e.choices || (m.Key != "allOf" && len(m.Value.Items) > 1)
			for i, sub := range m.Value.Items {
				e.visit(sub, p.at(m.Key, strconv.Itoa(i)), false)
			}
		case "if", "then", "else":
			e.choices = true
			e.visit(m.Value, p.at(m.Key), false)
		case "dependentSchemas", "dependencies":
			e.choices = true
			for _, sub := range m.Value.Members {
				e.visit(sub.Value, p.at(m.Key, sub.Key), false)
			}
		}
	}
}

func (e *evaluation) reference(ref *jsonschema.Value, p place) {
	target, at, ok := e.c.target(ref, p)
	if !ok {
		e.allProperties, e.allItems = true, true
		return
	}
	e.visit(target, at, false)
}

// own adds the keywords of v itself. The unevaluated keywords of the outermost schema evaluate nothing here.
func (e *evaluation) own(v *jsonschema.Value, p place, outermost bool) {
	if props := v.Get("properties"); props != nil {
		for _, m := range props.Members {
			if !e.names[m.Key] {
				e.names[m.Key] = true
				e.order = append(e.order, m.Key)
			}
			e.allProperties = e.allProperties || m.Lossy
		}
	}
	for _, pattern := range e.c.patterns(v, p) {
		e.patterns = append(e.patterns, pattern.typ)
		e.c.wide()
	}
	if v.Get("additionalProperties") != nil || (!outermost && v.Get("unevaluatedProperties") != nil) {
		e.allProperties = true
	}
	items := v.Get("items")
	switch {
	case items != nil && (items.Kind != jsonschema.KindArray || p.res.Draft >= jsonschema.Draft202012):
		e.allItems = true
	case items != nil:
		e.items = max(e.items, len(items.Items))
		e.allItems = e.allItems || v.Get("additionalItems") != nil
	}
	if prefix := v.Get("prefixItems"); prefix != nil {
		e.items = max(e.items, len(prefix.Items))
	}
	if v.Get("contains") != nil || (!outermost && v.Get("unevaluatedItems") != nil) {
		e.allItems = true // contains evaluates the items that match it, at any index
	}
}
