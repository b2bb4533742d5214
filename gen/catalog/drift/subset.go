package drift

import (
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// value is [Covers] for one place in a value. The value fits all of ns.
func (p *proof) value(ns []node, w node, depth int) bool {
	if p.steps++; p.steps > maxSteps || depth > maxDepth {
		return false
	}
	key := fmt.Sprintf("%p", w)
	for _, n := range ns {
		key += fmt.Sprintf(" %p", n)
	}
	if isObject(w) && len(ns) > 0 {
		if p.busy[key] {
			return true
		}
		p.busy[key] = true
		defer delete(p.busy, key)
	}
	return p.keepsDeclared(ns, w) && p.all(ns, w, depth)
}

// all shows that a value which fits ns satisfies every keyword of w.
func (p *proof) all(ns []node, w node, depth int) bool {
	if p.types(ns, 0) == 0 {
		return true // no value fits ns
	}
	if !isObject(w) {
		return isBool(w, true)
	}
	if p.steps++; p.steps > maxSteps || depth > maxDepth {
		return false
	}
	if w.Has("$id") && depth > 0 {
		return false // references in it mean something else
	}
	return !slices.ContainsFunc(w.Sorted(), func(m jsonschema.Member) bool { return !p.keyword(ns, w, m.Key, depth+1) })
}

func isObject(v node) bool { return v != nil && v.Kind == jsonschema.KindObject }

// isBool reports whether a schema is the boolean want.
func isBool(v node, want bool) bool {
	return v != nil && v.Kind == jsonschema.KindBool && v.Bool == want
}

// keyword shows that a value which fits ns satisfies one keyword of w.
func (p *proof) keyword(ns []node, w node, key string, depth int) bool {
	if isAnnotation(key) || p.types(ns, 0)&jsonschema.About(key) == 0 {
		return true
	}
	if p.steps++; p.steps > maxSteps {
		return false
	}
	switch key {
	case "$ref":
		return p.all(ns, p.wide.Local(w.Str(key)), depth)
	case "allOf":
		parts, ok := list(w, key)
		return ok && !slices.ContainsFunc(parts, func(part node) bool { return !p.all(ns, part, depth) })
	case "anyOf", "oneOf":
		if p.union(ns, w, key, depth) {
			return true
		}
	default:
		if p.direct(ns, w, key, depth) {
			return true
		}
	}
	// A value fits one of the alternatives of each of its unions.
	for i, n := range ns {
		for _, union := range []string{"anyOf", "oneOf"} {
			alternatives, ok := list(n, union)
			if !ok || len(alternatives) > maxAlternatives {
				continue
			}
			others := slices.Concat(ns[:i], []node{n.Without(union)}, ns[i+1:])
			if !slices.ContainsFunc(alternatives, func(a node) bool {
				return !p.keyword(slices.Concat(p.conjuncts(a, 0), others), w, key, depth+1)
			}) {
				return true
			}
		}
	}
	return false
}

// maxAlternatives bounds the alternatives of a union that are tried.
const maxAlternatives = 100

// union shows that one of the alternatives of w holds, and for a oneOf that no two can.
func (p *proof) union(ns []node, w node, key string, depth int) bool {
	alternatives, ok := list(w, key)
	if !ok || len(alternatives) > maxAlternatives {
		return false
	}
	if slices.ContainsFunc(ns, func(n node) bool { set, ok := list(n, key); return ok && p.sameSet(set, alternatives) }) {
		return true
	}
	if key == "oneOf" {
		apart := &proof{narrow: p.wide, steps: p.steps}
		shown := apart.disjoint(alternatives)
		if p.steps = apart.steps; !shown {
			return false
		}
	}
	holds := func(ns []node) bool {
		return slices.ContainsFunc(alternatives, func(a node) bool { return p.all(ns, a, depth+1) })
	}
	if holds(ns) {
		return true
	}
	// Each value, or each type of value, may fit another alternative.
	if values, ok := p.values(ns); ok && len(values) <= maxAlternatives {
		return !slices.ContainsFunc(values, func(v node) bool { return !holds(append([]node{withKeyword("enum", jsonschema.List(v))}, ns...)) })
	}
	kinds := p.types(ns, 0).Names()
	return len(kinds) > 1 && !slices.ContainsFunc(kinds, func(name string) bool {
		return !holds(append([]node{withKeyword("type", jsonschema.Text(name))}, ns...))
	})
}

// withKeyword returns a schema with one keyword.
func withKeyword(key string, value node) node {
	return jsonschema.Record(jsonschema.Member{Key: key, Value: value})
}

// conjuncts splits a schema of the narrow document into schemas that must all hold. It may leave some out, which makes the narrow side
// wider.
func (p *proof) conjuncts(n node, depth int) []node {
	if p.steps++; depth > maxDepth || p.steps > maxSteps {
		return nil
	}
	if !isObject(n) {
		if isBool(n, false) {
			return []node{withKeyword("enum", jsonschema.List())}
		}
		return nil
	}
	if n.Has("$id") && n != p.narrow {
		return nil
	}
	if n.Has("$ref") { // what stands beside it counts in newer drafts only
		return p.conjuncts(p.narrow.Local(n.Str("$ref")), depth+1)
	}
	out := []node{n}
	for _, part := range n.Get("allOf").Elements() {
		out = append(out, p.conjuncts(part, depth+1)...)
	}
	return out
}

// declared holds what a schema, or a schema that it refers to, declares for one place in a value.
type declared struct {
	properties map[string]bool
	unknown    map[string]node // keywords of unknown meaning: nullable, for one, accepts more values
}

// keepsDeclared reports whether the new schema still declares everything that the old one declared.
func (p *proof) keepsDeclared(ns []node, w node) bool {
	before, now := declared{map[string]bool{}, map[string]node{}}, declared{map[string]bool{}, map[string]node{}}
	for _, n := range ns {
		if !p.declared(p.narrow, n, before, 0) {
			return false
		}
	}
	if p.input && len(before.properties)+len(before.unknown) == 0 {
		return true
	}
	if !p.declared(p.wide, w, now, 0) {
		return false
	}
	gone, left := before.properties, now.properties
	if !p.input { // of outputs, the new schema is the narrow one
		gone, left = left, gone
	}
	for name := range gone {
		if !left[name] {
			return false
		}
	}
	for key, v := range before.unknown {
		if w, ok := now.unknown[key]; !ok || !p.unchanged(jsonschema.Member{Key: key, Value: v}, w) {
			return false
		}
	}
	return true
}

// declared adds what a schema declares to out.
func (p *proof) declared(root, n node, out declared, depth int) bool {
	if p.steps++; depth > maxDepth || p.steps > maxSteps {
		return false
	}
	if !isObject(n) {
		return true
	}
	for _, m := range properties(n) {
		out.properties[m.Key] = true
	}
	for _, m := range n.Members {
		if !isAnnotation(m.Key) && !isKnown(m.Key) {
			out.unknown[m.Key] = m.Value
		}
	}
	if n.Has("$ref") && !p.declared(root, root.Local(n.Str("$ref")), out, depth+1) {
		return false
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		for _, part := range n.Get(key).Elements() {
			if !p.declared(root, part, out, depth+1) {
				return false
			}
		}
	}
	return true
}
