package drift

import (
	"slices"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// same reports whether two schemas, and the schemas that they refer to, are equal apart from annotations.
func (p *proof) same(a, b node, depth int) bool {
	if p.steps++; depth > maxDepth || p.steps > 2*maxSteps || a == nil || b == nil {
		return false
	}
	if a.Kind != jsonschema.KindObject || b.Kind != jsonschema.KindObject {
		return jsonschema.Equal(a, b)
	}
	for _, m := range b.Members {
		if a.Get(m.Key) == nil && (!isAnnotation(m.Key) || identifies(m.Key)) {
			return false
		}
	}
	for _, m := range a.Members {
		if isAnnotation(m.Key) && !identifies(m.Key) {
			continue
		}
		if w := b.Get(m.Key); w == nil || !p.sameKeyword(m, w, depth+1) {
			return false
		}
	}
	return true
}

// identifies reports whether a keyword determines how a document is read.
func identifies(key string) bool { return key == "$schema" || key == "$id" || key == "$anchor" }

// sameKeyword is same for a keyword and its value on the other side.
func (p *proof) sameKeyword(m jsonschema.Member, b node, depth int) bool {
	a := m.Value
	switch jsonschema.Subschemas(m) {
	case jsonschema.MapOfSchemas:
		return a.Kind == jsonschema.KindObject && b.Kind == jsonschema.KindObject && len(a.Members) == len(b.Members) &&
			!slices.ContainsFunc(a.Members, func(m jsonschema.Member) bool { return !p.same(m.Value, b.Get(m.Key), depth+1) })
	case jsonschema.ListOfSchemas, jsonschema.OneSchema:
		if a.Kind == jsonschema.KindArray && b.Kind == jsonschema.KindArray {
			return slices.EqualFunc(a.Items, b.Items, func(v, w node) bool { return p.same(v, w, depth+1) })
		}
		return p.same(a, b, depth+1)
	}
	if m.Key == "$ref" && a.Kind == jsonschema.KindString {
		if !jsonschema.Equal(a, b) {
			return false
		}
		if known := "same " + a.Text; !p.busy[known] { // the same reference is followed once
			p.busy[known] = true
			defer delete(p.busy, known)
			return p.same(p.narrow.Local(a.Text), p.wide.Local(a.Text), depth+1)
		}
		return true
	}
	return p.unchanged(m, b)
}

// unchanged reports whether a keyword of unknown meaning is the same on both sides. It returns false if its value contains a reference,
// because the target may have changed.
func (p *proof) unchanged(m jsonschema.Member, b node) bool {
	return jsonschema.Equal(m.Value, b) && !p.refers(jsonschema.Record(m), 0)
}

// refers reports whether there is a reference in a value.
func (p *proof) refers(v node, depth int) bool {
	if p.steps++; depth > maxDepth || p.steps > 2*maxSteps {
		return true
	}
	return slices.ContainsFunc(v.Members, func(m jsonschema.Member) bool {
		return jsonschema.IsReference(m.Key) || p.refers(m.Value, depth+1)
	}) || slices.ContainsFunc(v.Items, func(inner node) bool { return p.refers(inner, depth+1) })
}

// sameSet reports whether two lists have the same alternatives, in any order.
func (p *proof) sameSet(x, y []node) bool {
	used := make([]bool, len(y))
	for _, v := range x {
		i := slices.IndexFunc(y, func(w node) bool { return p.same(v, w, 0) })
		if i < 0 || used[i] {
			return false
		}
		used[i] = true
	}
	return len(x) == len(y)
}
