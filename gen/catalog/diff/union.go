package diff

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog/drift"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// unionOf returns the keyword of a union that is the only constraint of one of two schemas, if the other is such a union too or may be an
// alternative of it. Otherwise it returns "".
func unionOf(x, y node) string {
	for _, key := range []string{"anyOf", "oneOf"} {
		for _, pair := range [][2]node{{x, y}, {y, x}} {
			if only(pair[0], key) && (only(pair[1], key) || !pair[1].Has("anyOf", "oneOf") && len(constraints(pair[1]).Members) > 0) {
				return key
			}
		}
	}
	return ""
}

// alternatives returns the alternatives of a union or of a list of types, or else the schema itself.
func alternatives(flat node, key string) []node {
	if list := flat.Get(key); isList(list) && only(flat, key) {
		return list.Items
	}
	if types := flat.Get("type"); isList(types) && only(flat, "type") {
		list := make([]node, len(types.Items))
		for i, t := range types.Items {
			list[i] = jsonschema.Record(jsonschema.Member{Key: "type", Value: t})
		}
		return list
	}
	return []node{constraints(flat)}
}

// union compares the alternatives of two unions, each with the one that is most likely the same. before and now are the
// types of both; an added or removed type is not reported again.
func (c *comparer) union(p place, key string, a, b []node, before, now jsonschema.Types) {
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
		func(i, j int) bool { return jsonschema.Equal(a[i], b[j]) },
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
		} else if now&c.old.types(c.old.flat(a[i]), 0) != 0 {
			c.values(at, "alternative", Narrowed, text(a[i]), "")
		}
	}
	for j := range b {
		if !used[j] && before&c.new.types(c.new.flat(b[j]), 0) != 0 {
			at := p.at(fmt.Sprintf("/%s/%d", key, j), c.alternative(c.new, b[j], labelsB[j], j))
			c.values(at, "alternative", Widened, "", text(b[j]))
		}
	}
}

func (c *comparer) sameTypes(a, b node) bool {
	return c.old.types(c.old.flat(a), 0) == c.new.types(c.new.flat(b), 0)
}

// alternative returns a name for an alternative that people understand.
func (c *comparer) alternative(d document, schema node, label string, i int) string {
	return "<" + cmp.Or(label, fmt.Sprintf("%s %d", typesText(d.types(d.flat(schema), 0)), i+1)) + ">"
}

// labels names the alternatives that have a label of their own: a property with one value, or a title.
func (c *comparer) labels(d document, alternatives []node) []string {
	out := make([]string, len(alternatives))
	count := map[string]int{}
	for i, schema := range alternatives {
		flat := d.flat(schema)
		out[i] = flat.Str("title")
		if enum := flat.Get("enum").Elements(); len(enum) == 1 {
			out[i] = text(enum[0])
		}
		if name, value := d.tag(flat, 0); name != "" {
			out[i] = displayName(name) + "=" + strings.Trim(value, `"`)
		}
		out[i] = ident.Shorten(out[i], maxText)
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
func (d document) tag(flat node, depth int) (name, value string) {
	for _, m := range flat.Get("properties").Sorted() {
		if enum := d.flatAt(m.Value, depth+1).Get("enum").Elements(); len(enum) == 1 {
			return m.Key, text(enum[0])
		}
	}
	return "", ""
}

// disjoint reports whether no value can fit two of the alternatives.
func (d document) disjoint(alternatives []node) bool {
	shown, steps := drift.Disjoint(d.root, alternatives)
	return d.left.spend(steps) && shown
}
