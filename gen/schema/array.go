package schema

import (
	"slices"
	"strconv"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// maxCounted bounds the minItems and maxItems that a type expresses.
const maxCounted = 6

// array converts the keywords of v about arrays.
func (c *converter) array(v *jsonschema.Value, p place) ir.Type {
	items, rest := c.items(v, p)
	least, _ := count(v, "minItems")
	if n := c.contained(v, p, rest, items); n < 0 {
		return ir.Never{}
	} else {
		least = max(least, n)
	}
	most, limited := count(v, "maxItems")
	if v.Is("uniqueItems", true) {
		c.wide()
	}
	if limited && most < least {
		return ir.Never{}
	}
	if limited {
		for len(items) < most && most <= maxCounted {
			items = append(items, rest)
		}
		if most <= len(items) {
			items, rest = items[:most], ir.Never{}
		} else {
			c.wide()
		}
	}
	// A long tuple becomes a list.
	if len(items) > maxTuple {
		c.wide()
		return ir.Array{Elem: ir.NewUnion(append(slices.Clone(items), rest)...)}
	}
	if least > max(len(items), maxCounted) {
		c.wide()
		least = max(len(items), maxCounted)
		if len(items) == 0 {
			least = 1
		}
	}
	return ir.NewList(items, least, rest)
}

// items returns the types of the first elements, and the type of all further ones.
func (c *converter) items(v *jsonschema.Value, p place) (items []ir.Type, rest ir.Type) {
	prefix, keyword := c.keyword(v, p, "prefixItems", jsonschema.Draft202012), "prefixItems"
	after, afterKeyword := v.Get("items"), "items"
	if after != nil && after.Kind == jsonschema.KindArray {
		if p.res.Draft >= jsonschema.Draft202012 {
			c.ignored("items", "is a list, which is prefixItems in this dialect", p)
			after = nil
		} else {
			prefix, keyword = after, "items"
			after, afterKeyword = v.Get("additionalItems"), "additionalItems"
		}
	}
	rest = ir.Unknown{}
	if after != nil {
		rest = c.schema(after, p.at(afterKeyword))
	}
	if prefix == nil {
		return nil, rest
	}
	if prefix.Kind != jsonschema.KindArray {
		c.ignored(keyword, "is not a list of schemas", p)
		return nil, rest
	}
	for i, item := range prefix.Items {
		items = append(items, c.schema(item, p.at(keyword, strconv.Itoa(i))))
	}
	return items, rest
}

// contained returns how many elements an array needs so that contains can match, or -1 if it never does.
func (c *converter) contained(v *jsonschema.Value, p place, rest ir.Type, items []ir.Type) int {
	contains := c.keyword(v, p, "contains", jsonschema.Draft06)
	if contains == nil {
		return 0
	}
	least, given := count(v, "minContains")
	if !given || p.res.Draft < jsonschema.Draft201909 {
		least = 1
	}
	t := c.schema(contains, p.at("contains"))
	c.wide()
	if least == 0 {
		return 0
	}
	possible := !never(c.alg.Meet(rest, t))
	for _, item := range items {
		possible = possible || !never(c.alg.Meet(item, t))
	}
	if !possible {
		return -1
	}
	return least
}
