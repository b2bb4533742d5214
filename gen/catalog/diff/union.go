package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// unionOf returns the keyword of a union that is all that one of two schemas has, while the other may be an alternative of
// it. Empty means none.
func unionOf(x, y fields) string {
	for _, key := range []string{"anyOf", "oneOf"} {
		for _, pair := range [][2]fields{{x, y}, {y, x}} {
			if only(pair[0], key) && (only(pair[1], key) || pair[1]["anyOf"] == nil && pair[1]["oneOf"] == nil && len(constraints(pair[1])) > 0) {
				return key
			}
		}
	}
	return ""
}

// alternatives returns those of a union or of a list of types, and for another schema itself.
func alternatives(node fields, key string) []any {
	if list, ok := node[key].([]any); ok && only(node, key) {
		return list
	}
	if types, ok := node["type"].([]any); ok && only(node, "type") {
		list := make([]any, len(types))
		for i, t := range types {
			list[i] = fields{"type": t}
		}
		return list
	}
	return []any{constraints(node)}
}

// union compares the alternatives of two unions, each with the one that is most likely the same. before and now are the
// types of both: one that came or went is not reported again.
func (c *comparer) union(p place, key string, a, b []any, before, now []string) {
	if !c.limits.spend(textCost(a...)+textCost(b...)) || len(a)+len(b) > 2*maxNesting {
		c.limits.overrun()
		return
	}
	if key == "oneOf" { // and its alternatives overlap
		// A value may be refused because an alternative accepts more than it did.
		c.overlapping++
		defer func() { c.overlapping-- }()
	}
	labelsA, labelsB := c.labels(c.old, a), c.labels(c.new, b)
	pair, used := make([]int, len(a)), make([]bool, len(b))
	for i := range pair {
		pair[i] = -1
	}
	for _, fits := range []func(i, j int) bool{
		func(i, j int) bool { return equal(a[i], b[j]) },
		func(i, j int) bool { return labelsA[i] == labelsB[j] && labelsA[i] != "" },
		func(i, j int) bool { return c.sameTypes(a[i], b[j]) && labelsA[i] == "" && labelsB[j] == "" },
	} {
		for i := range a {
			for j := range b {
				if pair[i] < 0 && !used[j] && fits(i, j) {
					pair[i], used[j] = j, true
				}
			}
		}
	}
	for i := range a {
		at := p.at(fmt.Sprintf("/%s/%d", key, max(pair[i], 0)), c.alternative(c.old, a[i], labelsA[i], i))
		if pair[i] >= 0 {
			c.compare(at, a[i], b[pair[i]])
		} else if len(intersection(now, c.old.types(c.old.flat(a[i]), 0))) > 0 {
			c.values(at, "alternative", Narrowed, text(a[i]), "")
		}
	}
	for j := range b {
		if !used[j] && len(intersection(before, c.new.types(c.new.flat(b[j]), 0))) > 0 {
			at := p.at(fmt.Sprintf("/%s/%d", key, j), c.alternative(c.new, b[j], labelsB[j], j))
			c.values(at, "alternative", Widened, "", text(b[j]))
		}
	}
}

func (c *comparer) sameTypes(a, b any) bool {
	return slices.Equal(c.old.types(c.old.flat(a), 0), c.new.types(c.new.flat(b), 0))
}

// alternative names an alternative for people.
func (c *comparer) alternative(d document, schema any, label string, i int) string {
	return "<" + cmp.Or(label, fmt.Sprintf("%s %d", typesText(d.types(d.flat(schema), 0)), i+1)) + ">"
}

// labels names the alternatives that have a label of their own: a property with one value, or a title.
func (c *comparer) labels(d document, alternatives []any) []string {
	out := make([]string, len(alternatives))
	count := map[string]int{}
	for i, schema := range alternatives {
		node := d.flat(schema)
		out[i], _ = node["title"].(string)
		if enum, _ := node["enum"].([]any); len(enum) == 1 {
			out[i] = text(enum[0])
		}
		if name, value := d.tag(node, 0); name != "" {
			out[i] = displayName(name) + "=" + strings.Trim(value, `"`)
		}
		out[i] = cut(out[i], maxText)
		count[out[i]]++
	}
	for i, label := range out {
		if count[label] > 1 {
			out[i] = ""
		}
	}
	return out
}

// tag is the property of an alternative that has one value only.
func (d document) tag(node fields, depth int) (name, value string) {
	properties, _ := node["properties"].(map[string]any)
	for _, name := range sortedKeys(properties) {
		property := properties[name]
		if enum, ok := d.flatAt(property, depth+1)["enum"].([]any); ok && len(enum) == 1 {
			return name, text(enum[0])
		}
	}
	return "", ""
}

// disjoint reports whether no value can fit two of the alternatives: they are of different types, or each requires another
// value of the same property.
func (d document) disjoint(alternatives []any, depth int) bool {
	property, seen, types := "", map[string]bool{}, []string{}
	typed, tagged := true, true
	for _, schema := range alternatives {
		node := d.flatAt(schema, depth+1)
		own := d.types(node, depth+1)
		typed = typed && len(intersection(own, types)) == 0
		types = append(types, own...)
		name, value := d.tag(node, depth)
		tagged = tagged && name != "" && !seen[value] && (property == "" || name == property) && required(node)[name] &&
			slices.Equal(own, []string{"object"})
		property, seen[value] = name, true
	}
	return typed || tagged
}
