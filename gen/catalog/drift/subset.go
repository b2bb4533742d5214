package drift

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// node is a schema object.
type node = map[string]any

const (
	// maxSteps bounds the schemas that one proof looks at, and maxDepth how deep it goes.
	maxSteps = 20_000
	maxDepth = 100
)

// proof shows that every value that a narrow schema accepts is accepted by a wide one too. It is one-sided: what it cannot show is
// false, whether it is false or not. A schema on the narrow side may be taken for a wider one, and one on the wide side for a
// narrower one, never the other way round.
type proof struct {
	narrow, wide any // the documents, for references
	// input reports that callers make the values, and that narrow is the schema that was. Then a property that is new and was not
	// declared before is taken as one that no caller sends, unless the schema invites undeclared ones. In both directions a property
	// that is gone is no proof: a server would ignore it in an open input, and code may read it from an output.
	input bool
	steps int
	busy  map[string]bool // what is being shown further out: a value is finite, so it may be assumed further in
}

// covers reports whether a value that fits n is shown to fit w.
func covers(n, w any, input bool) bool {
	p := &proof{narrow: n, wide: w, input: input, busy: map[string]bool{}}
	if !sameDialect(n, w) {
		return p.same(n, w, 0)
	}
	return p.value(p.conjuncts(n, 0), w, 0) || p.same(n, w, 0)
}

// value is covers for one place in a value: the value fits all of ns.
func (p *proof) value(ns []node, w any, depth int) bool {
	if p.steps++; p.steps > maxSteps || depth > maxDepth {
		return false
	}
	key := fmt.Sprintf("%p", w)
	for _, n := range ns {
		key += fmt.Sprintf(" %p", n)
	}
	if _, ok := w.(node); ok && len(ns) > 0 {
		if p.busy[key] {
			return true
		}
		p.busy[key] = true
		defer delete(p.busy, key)
	}
	return p.keepsDeclared(ns, w) && p.all(ns, w, depth)
}

// all shows each part of w.
func (p *proof) all(ns []node, w any, depth int) bool {
	if p.types(ns, 0) == 0 {
		return true // no value fits ns
	}
	switch w := w.(type) {
	case bool:
		return w
	case node:
		if p.steps++; p.steps > maxSteps || depth > maxDepth {
			return false
		}
		if _, ok := w["$id"]; ok && depth > 0 {
			return false // references in it mean something else
		}
		for _, key := range slices.Sorted(maps.Keys(w)) {
			if !p.keyword(ns, w, key, depth+1) {
				return false
			}
		}
		return true
	}
	return false
}

// keyword shows one keyword of w.
func (p *proof) keyword(ns []node, w node, key string, depth int) bool {
	if isAnnotation(key) || p.types(ns, 0)&aboutTypes(key) == 0 {
		return true
	}
	if p.steps++; p.steps > maxSteps {
		return false
	}
	switch key {
	case "$ref":
		ref, _ := w[key].(string)
		target, ok := resolve(p.wide, ref)
		return ok && p.all(ns, target, depth)
	case "allOf":
		parts, ok := w[key].([]any)
		return ok && !slices.ContainsFunc(parts, func(part any) bool { return !p.all(ns, part, depth) })
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
			alternatives, ok := n[union].([]any)
			if !ok || len(alternatives) > maxAlternatives {
				continue
			}
			rest := maps.Clone(n)
			delete(rest, union)
			others := slices.Concat(ns[:i], []node{rest}, ns[i+1:])
			if !slices.ContainsFunc(alternatives, func(a any) bool {
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
	alternatives, ok := w[key].([]any)
	if !ok || len(alternatives) > maxAlternatives {
		return false
	}
	if slices.ContainsFunc(ns, func(n node) bool { return n[key] != nil && p.sameSet(n[key], alternatives) }) {
		return true
	}
	if key == "oneOf" && !p.disjoint(alternatives) {
		return false
	}
	holds := func(ns []node) bool {
		return slices.ContainsFunc(alternatives, func(a any) bool { return p.all(ns, a, depth+1) })
	}
	if holds(ns) {
		return true
	}
	// Each value, or each type of value, may fit another alternative.
	if values, ok := p.values(ns); ok && len(values) <= maxAlternatives {
		return !slices.ContainsFunc(values, func(v any) bool { return !holds(append([]node{{"enum": []any{v}}}, ns...)) })
	}
	kinds := p.types(ns, 0).split()
	return len(kinds) > 1 && !slices.ContainsFunc(kinds, func(name string) bool { return !holds(append([]node{{"type": name}}, ns...)) })
}

// conjuncts returns schemas that a value which fits a schema of the narrow document fits too. What it leaves out makes the
// narrow side wider.
func (p *proof) conjuncts(schema any, depth int) []node {
	if p.steps++; depth > maxDepth || p.steps > maxSteps {
		return nil
	}
	n, ok := schema.(node)
	if !ok {
		if schema == false {
			return []node{{"enum": []any{}}}
		}
		return nil
	}
	if _, ok := n["$id"]; ok && fmt.Sprintf("%p", n) != fmt.Sprintf("%p", p.narrow) {
		return nil
	}
	if ref, ok := n["$ref"].(string); ok { // what stands beside it counts in newer drafts only
		target, ok := resolve(p.narrow, ref)
		if !ok {
			return nil
		}
		return p.conjuncts(target, depth+1)
	}
	out := []node{n}
	parts, _ := n["allOf"].([]any)
	for _, part := range parts {
		out = append(out, p.conjuncts(part, depth+1)...)
	}
	return out
}

// resolve follows a reference within a document.
func resolve(root any, ref string) (any, bool) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	pointer, err := url.PathUnescape(pointer)
	if err != nil || pointer != "" && pointer[0] != '/' {
		return nil, false
	}
	v := root
	for i, token := range strings.Split(pointer, "/") {
		if i == 0 {
			continue
		}
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch at := v.(type) {
		case node:
			if _, nested := at["$id"]; nested && i > 1 {
				return nil, false
			}
			if v, ok = at[token]; !ok {
				return nil, false
			}
		case []any:
			n, err := strconv.Atoi(token)
			if err != nil || n < 0 || n >= len(at) {
				return nil, false
			}
			v = at[n]
		default:
			return nil, false
		}
	}
	return v, true
}

// declared is what a schema says at one place of a value, by itself or by what it refers to.
type declared struct {
	properties map[string]bool
	unknown    map[string]any // keywords that may mean anything: nullable lets more values in
}

// keepsDeclared reports whether the new schema still declares what the former one did.
func (p *proof) keepsDeclared(ns []node, w any) bool {
	before, now := declared{map[string]bool{}, map[string]any{}}, declared{map[string]bool{}, map[string]any{}}
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
		if w, ok := now.unknown[key]; !ok || !p.unchanged(key, v, w) {
			return false
		}
	}
	return true
}

// declared adds what a schema declares to out.
func (p *proof) declared(root, schema any, out declared, depth int) bool {
	if p.steps++; depth > maxDepth || p.steps > maxSteps {
		return false
	}
	n, ok := schema.(node)
	if !ok {
		return true
	}
	properties, _ := n["properties"].(node)
	for name := range properties {
		out.properties[name] = true
	}
	for key, v := range n {
		if !isAnnotation(key) && !isKnown(key) {
			out.unknown[key] = v
		}
	}
	if ref, ok := n["$ref"].(string); ok {
		target, _ := resolve(root, ref)
		if !p.declared(root, target, out, depth+1) {
			return false
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		parts, _ := n[key].([]any)
		for _, part := range parts {
			if !p.declared(root, part, out, depth+1) {
				return false
			}
		}
	}
	return true
}
