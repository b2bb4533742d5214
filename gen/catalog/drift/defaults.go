package drift

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// SameDefaults reports whether a call that omits a member still means the same: each default of an input is unchanged, and no new default
// is true. Like a proof it is one-sided: it returns false if it cannot show this.
func SameDefaults(old, now *jsonschema.Value) bool {
	d := &defaults{old: old, now: now, seen: map[string]bool{}}
	return d.same([]node{old}, []node{now})
}

type defaults struct {
	old, now node // the documents, for references
	steps    int
	seen     map[string]bool // places of both documents, by their schemas
}

// same compares one place of a value, for which there are several schemas.
func (d *defaults) same(old, now []node) bool {
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
	places := map[string]*[2][]node{}
	for i, nodes := range [][]node{a, b} {
		for _, n := range nodes {
			if v := n.Get("default"); v != nil {
				text := string(v.AppendCanonical(nil))
				if i == 0 {
					was[text] = true
				} else if is[text] = true; !was[text] && (len(was) > 0 || saysTrue(v)) {
					return false
				}
			}
			below(n, func(place string, schema node) {
				if places[place] == nil {
					places[place] = &[2][]node{}
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

// below calls add with the schemas of the members and elements of a value.
func below(n node, add func(place string, schema node)) {
	for _, m := range n.Members {
		switch m.Key {
		case "properties", "patternProperties":
			for _, inner := range m.Value.Members {
				add(m.Key+"/"+inner.Key, inner.Value)
			}
		case "additionalProperties":
			add(m.Key, m.Value)
		case "items", "prefixItems", "additionalItems":
			for _, schema := range m.Value.Items {
				add("items", schema)
			}
			if isObject(m.Value) {
				add("items", m.Value)
			}
		}
	}
}

// parts returns the schemas of a place and the schemas that they refer to or combine.
func (d *defaults) parts(root node, schemas []node) []node {
	var out []node
	refs := map[string]bool{}
	for queue := slices.Clone(schemas); len(queue) > 0 && d.steps <= maxSteps; queue = queue[1:] {
		d.steps++
		n := queue[0]
		if !isObject(n) {
			continue
		}
		out = append(out, n)
		for _, m := range n.Members {
			switch m.Key {
			case "$ref":
				if !refs[m.Value.Text] {
					refs[m.Value.Text] = true
					queue = append(queue, root.Local(n.Str("$ref")))
				}
			case "allOf", "anyOf", "oneOf":
				queue = append(queue, m.Value.Items...)
			case "if", "then", "else":
				queue = append(queue, m.Value)
			case "dependentSchemas", "dependencies":
				for _, inner := range m.Value.Members {
					queue = append(queue, inner.Value)
				}
			}
		}
	}
	return out
}

func saysTrue(v node) bool {
	return v.Bool || v.Kind == jsonschema.KindString && strings.EqualFold(v.Text, "true") || slices.ContainsFunc(v.Items, saysTrue) ||
		slices.ContainsFunc(v.Members, func(m jsonschema.Member) bool { return saysTrue(m.Value) })
}
