package drift

import "slices"

// same reports whether two schemas are equal but for annotations. References in them lead to schemas that are the same too.
func (p *proof) same(a, b any, depth int) bool {
	if p.steps++; depth > maxDepth || p.steps > 2*maxSteps {
		return false
	}
	x, okA := a.(node)
	y, okB := b.(node)
	if !okA || !okB {
		return okA == okB && equal(a, b)
	}
	for key := range y {
		if _, ok := x[key]; !ok && (!isAnnotation(key) || identifies(key)) {
			return false
		}
	}
	for key, v := range x {
		if isAnnotation(key) && !identifies(key) {
			continue
		}
		w, ok := y[key]
		if !ok || !p.sameKeyword(key, v, w, depth+1) {
			return false
		}
	}
	return true
}

// identifies reports whether a keyword says how a document is read.
func identifies(key string) bool { return key == "$schema" || key == "$id" || key == "$anchor" }

// sameKeyword is same for the value of a keyword.
func (p *proof) sameKeyword(key string, a, b any, depth int) bool {
	switch key {
	case "properties", "patternProperties", "dependentSchemas", "dependencies":
		x, okA := a.(node)
		y, okB := b.(node)
		if !okA || !okB || len(x) != len(y) {
			return false
		}
		for name, v := range x {
			if w, ok := y[name]; !ok || !p.same(v, w, depth+1) {
				return false
			}
		}
		return true
	case "allOf", "anyOf", "oneOf", "prefixItems", "items":
		x, okA := a.([]any)
		y, okB := b.([]any)
		if okA && okB {
			return slices.EqualFunc(x, y, func(v, w any) bool { return p.same(v, w, depth+1) })
		}
		return p.same(a, b, depth+1)
	case "not", "if", "then", "else", "contains", "contentSchema", "propertyNames", "additionalProperties", "additionalItems", "unevaluatedItems", "unevaluatedProperties":
		return p.same(a, b, depth+1)
	case "$ref":
		if !equal(a, b) {
			return false
		}
		if known := "same " + a.(string); !p.busy[known] { // the same reference is followed once
			p.busy[known] = true
			defer delete(p.busy, known)
			x, okA := resolve(p.narrow, a.(string))
			y, okB := resolve(p.wide, a.(string))
			return okA && okB && p.same(x, y, depth+1)
		}
		return true
	}
	return p.unchanged(key, a, b)
}

// unchanged reports whether a keyword whose meaning is not known is the same. One that refers to something is not: that may have changed.
func (p *proof) unchanged(key string, a, b any) bool {
	return equal(a, b) && !p.refers(node{key: a}, 0)
}

// refers reports whether there is a reference in a value.
func (p *proof) refers(v any, depth int) bool {
	if p.steps++; depth > maxDepth || p.steps > 2*maxSteps {
		return true
	}
	switch v := v.(type) {
	case node:
		for key, inner := range v {
			if key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef" || p.refers(inner, depth+1) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(inner any) bool { return p.refers(inner, depth+1) })
	}
	return false
}

// sameSet reports whether two lists have the same alternatives, in any order.
func (p *proof) sameSet(a any, y []any) bool {
	x, ok := a.([]any)
	if !ok || len(x) != len(y) {
		return false
	}
	used := make([]bool, len(y))
	for _, v := range x {
		i := slices.IndexFunc(y, func(w any) bool { return p.same(v, w, 0) })
		if i < 0 || used[i] {
			return false
		}
		used[i] = true
	}
	return true
}
