package schema

import (
	"slices"

	"github.com/mcpgen/mcpgen/gen/ir"
)

var (
	objectKeywords = []string{"properties", "required", "additionalProperties", "patternProperties"}
	arrayKeywords  = []string{"items", "prefixItems"}
)

// object converts what v says of objects.
func (c *converter) object(v *value, p place) ir.Type {
	required := c.required(v, p)
	var fields []ir.Field
	hidden := false // a property exists that the type cannot name
	if props := v.get("properties"); props != nil && props.kind == kindObject {
		for _, m := range props.members {
			if m.lossy {
				c.note(p.at("properties").pointer, "the name of a property is not valid Unicode; it is left out")
				hidden = true
				continue
			}
			f := c.field(m, p, slices.Contains(required, m.key))
			if !never(f.Type) {
				fields = append(fields, f)
			} else if f.Required {
				return ir.Never{}
			}
		}
	} else if props != nil {
		c.note(p.at("properties").pointer, "properties is not an object; it is ignored")
	}
	for _, name := range required {
		if !slices.ContainsFunc(fields, func(f ir.Field) bool { return f.Name == name }) {
			fields = append(fields, ir.Field{Name: name, Type: ir.Unknown{}, Required: true})
		}
	}

	extra := c.extra(v, p)
	if hidden {
		extra = ir.Unknown{}
	}
	if len(fields) > 0 {
		return ir.Object{Fields: fields, Extra: extra}
	}
	if never(extra) || (extra == nil && v.get("properties") != nil) {
		return ir.Object{Extra: extra} // the author says that there are no properties
	}
	if extra == nil {
		extra = ir.Unknown{}
	}
	return ir.Map{Value: extra}
}

func (c *converter) field(m member, p place, required bool) ir.Field {
	return ir.Field{
		Name:     m.key,
		Type:     c.schema(m.value, p.inside("properties", m.key)),
		Required: required,
		Doc:      c.doc(m.value),
	}
}

// required returns the names in v's required keyword, without repetition.
func (c *converter) required(v *value, p place) []string {
	list := v.get("required")
	if list == nil {
		return nil
	}
	if list.kind != kindArray { // a boolean in draft 3, and in many hands since
		return nil
	}
	var out []string
	for _, item := range list.items {
		if item.kind != kindString || item.lossy {
			c.note(p.at("required").pointer, "a required name is not a string; it is ignored")
			continue
		}
		if !slices.Contains(out, item.text) {
			out = append(out, item.text)
		}
	}
	return out
}

// extra returns the type of properties that are not declared: nil where nothing is said about them, Never where they
// are forbidden.
func (c *converter) extra(v *value, p place) ir.Type {
	var rest ir.Type
	if additional := v.get("additionalProperties"); additional != nil {
		rest = c.schema(additional, p.inside("additionalProperties"))
	} else if v.get("unevaluatedProperties") != nil && !v.is("unevaluatedProperties", false) {
		rest = ir.Unknown{}
	}
	patterns := v.get("patternProperties")
	if patterns == nil || patterns.kind != kindObject || len(patterns.members) == 0 {
		return rest
	}
	types := []ir.Type{}
	for _, m := range patterns.members {
		types = append(types, c.schema(m.value, p.inside("patternProperties", m.key)))
	}
	if rest == nil {
		rest = ir.Unknown{}
	}
	return ir.NewUnion(append(types, rest)...)
}

// array converts what v says of arrays.
func (c *converter) array(v *value, p place) ir.Type {
	items, rest := v.get("items"), v.get("additionalItems")
	prefix, keyword := v.get("prefixItems"), "prefixItems"
	restKeyword := "items"
	if items != nil && items.kind == kindArray { // before 2020-12
		prefix, keyword = items, "items"
		restKeyword = "additionalItems"
	} else {
		rest = items
	}
	restType := ir.Type(ir.Unknown{})
	if rest != nil {
		restType = c.schema(rest, p.inside(restKeyword))
	}
	if prefix == nil || prefix.kind != kindArray || len(prefix.items) == 0 {
		return ir.Array{Elem: restType}
	}

	types := make([]ir.Type, 0, len(prefix.items))
	for i, item := range prefix.items {
		types = append(types, c.schema(item, p.inside(keyword, itoa(i))))
	}
	if most, ok := count(v, "maxItems"); ok && most <= len(types) {
		types, restType = types[:most], ir.Never{}
	}
	// An element that nothing fits, or a tuple too long to be worth its name: a list.
	if len(types) == 0 || len(types) > maxTuple || slices.ContainsFunc(types, never) {
		return ir.Array{Elem: ir.NewUnion(append(types, restType)...)}
	}
	least, _ := count(v, "minItems")
	return ir.Tuple{Items: types, Required: min(least, len(types)), Rest: restType}
}
