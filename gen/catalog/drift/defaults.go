package drift

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
)

// sameDefaults reports whether a call that omits a member still means the same: each default of an input is as it was, and none is new
// that says true. Like a proof it is one-sided: what it cannot show is false.
func sameDefaults(old, now any) bool {
	d := &defaults{old: old, now: now, seen: map[string]bool{}}
	return d.same([]any{old}, []any{now})
}

type defaults struct {
	old, now any // the documents, for references
	steps    int
	seen     map[string]bool // places of both documents, by their schemas
}

// same compares one place of a value, for which there are several schemas.
func (d *defaults) same(old, now []any) bool {
	a, b := d.parts(d.old, old), d.parts(d.now, now)
	key := ""
	for _, n := range a {
		key += fmt.Sprintf("%p ", n)
	}
	for _, n := range b {
		key += fmt.Sprintf(" %p", n)
	}
	if d.seen[key] {
		return true
	}
	d.seen[key] = true
	was, is := map[string]bool{}, map[string]bool{}
	places := map[string]*[2][]any{}
	for i, nodes := range [][]node{a, b} {
		for _, n := range nodes {
			if v, ok := n["default"]; ok {
				text := string(catalog.AppendCanonical(nil, v))
				if i == 0 {
					was[text] = true
				} else if is[text] = true; !was[text] && (len(was) > 0 || saysTrue(v)) {
					return false
				}
			}
			below(n, func(place string, schema any) {
				if places[place] == nil {
					places[place] = &[2][]any{}
				}
				places[place][i] = append(places[place][i], schema)
			})
		}
	}
	if d.steps += len(a) + len(b) + len(places); d.steps > maxSteps || len(was) != len(is) && len(was) > 0 {
		return false
	}
	for _, schemas := range places {
		if !d.same(schemas[0], schemas[1]) {
			return false
		}
	}
	return true
}

// below calls add with the schemas of what is in a value.
func below(n node, add func(place string, schema any)) {
	for _, key := range []string{"properties", "patternProperties"} {
		inner, _ := n[key].(node)
		for name, schema := range inner {
			add(key+"/"+name, schema)
		}
	}
	if others, ok := n["additionalProperties"]; ok {
		add("additionalProperties", others)
	}
	for _, key := range []string{"items", "prefixItems", "additionalItems"} {
		if list, ok := n[key].([]any); ok {
			for _, schema := range list {
				add("items", schema)
			}
		} else if schema, ok := n[key]; ok {
			add("items", schema)
		}
	}
}

// parts returns the schemas of a place, and those that they are made of.
func (d *defaults) parts(root any, schemas []any) []node {
	var out []node
	refs := map[string]bool{}
	for queue := slices.Clone(schemas); len(queue) > 0 && d.steps <= maxSteps; queue = queue[1:] {
		d.steps++
		n, ok := queue[0].(node)
		if !ok {
			continue
		}
		out = append(out, n)
		if ref, ok := n["$ref"].(string); ok && !refs[ref] {
			refs[ref] = true
			target, _ := resolve(root, ref)
			queue = append(queue, target)
		}
		for _, key := range []string{"allOf", "anyOf", "oneOf"} {
			list, _ := n[key].([]any)
			queue = append(queue, list...)
		}
		queue = append(queue, n["if"], n["then"], n["else"])
		for _, key := range []string{"dependentSchemas", "dependencies"} {
			inner, _ := n[key].(node)
			for _, schema := range inner {
				queue = append(queue, schema)
			}
		}
	}
	return out
}

func saysTrue(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case string:
		return strings.EqualFold(v, "true")
	case []any:
		return slices.ContainsFunc(v, saysTrue)
	case node:
		for _, inner := range v {
			if saysTrue(inner) {
				return true
			}
		}
	}
	return false
}
