package drift

import (
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// isKnown reports whether a proof may ignore a keyword on the narrow side.
func isKnown(key string) bool {
	return jsonschema.IsConstraint(key) && key != "nullable" && key != "$dynamicRef" && key != "$recursiveRef"
}

// isAnnotation reports whether a keyword refuses no value.
func isAnnotation(key string) bool {
	return jsonschema.IsNote(key) || jsonschema.IsStructure(key) && key != "$dynamicAnchor" && key != "$recursiveAnchor" && key != "$vocabulary"
}

// types returns the types of the values that fit ns. It may return more types, never fewer.
func (p *proof) types(ns []node, depth int) jsonschema.Types {
	out := jsonschema.Types(jsonschema.Any)
	for _, n := range ns {
		if listed, ok := jsonschema.TypesOf(n); ok {
			out &= listed
		}
		if values, ok := jsonschema.Values(n); ok {
			p.steps += len(values) / 16
			var of jsonschema.Types
			for _, v := range values {
				of |= v.Type()
			}
			out &= of
		}
		for _, key := range []string{"anyOf", "oneOf"} {
			alternatives, ok := list(n, key)
			if p.steps += len(alternatives); !ok || depth > 10 || p.steps > maxSteps {
				continue
			}
			var union jsonschema.Types
			for _, a := range alternatives {
				union |= p.types(p.conjuncts(a, 0), depth+1)
			}
			out &= union
		}
	}
	return out
}

// list returns the elements of a keyword whose value is a list.
func list(n node, key string) ([]node, bool) {
	v := n.Get(key)
	return v.Elements(), v != nil && v.Kind == jsonschema.KindArray
}

// values returns a finite list that contains every value that fits ns, if there is one.
func (p *proof) values(ns []node) ([]node, bool) {
	kinds := p.types(ns, 0)
	for _, n := range ns {
		if list, ok := jsonschema.Values(n); ok {
			return slices.DeleteFunc(slices.Clone(list), func(v node) bool { return v.Type()&kinds == 0 }), true
		}
	}
	null, no, yes := &jsonschema.Value{}, jsonschema.Truth(false), jsonschema.Truth(true)
	switch kinds {
	case jsonschema.Null:
		return []node{null}, true
	case jsonschema.Boolean:
		return []node{yes, no}, true
	case jsonschema.Null | jsonschema.Boolean:
		return []node{null, yes, no}, true
	}
	return nil, false
}

// size returns the number that a bound applies to: the value of a number, or the length of anything else.
func size(v node) (*big.Rat, bool) {
	switch n := int64(len(v.Items) + len(v.Members)); v.Kind {
	case jsonschema.KindString:
		return new(big.Rat).SetInt64(int64(utf8.RuneCountInString(v.Text))), true
	case jsonschema.KindArray, jsonschema.KindObject:
		return new(big.Rat).SetInt64(n), true
	}
	return v.Rat()
}

// bounded shows a bound, such as minimum or maxLength.
func (p *proof) bounded(ns []node, w node, key string) bool {
	limit, ok := w.Get(key).Rat()
	if !ok {
		return false
	}
	about := jsonschema.About(key)
	lower, strict := strings.Contains(strings.ToLower(key), "min"), strings.HasPrefix(key, "exclusive")
	fits := func(n *big.Rat, open bool) bool {
		order := n.Cmp(limit)
		if !lower {
			order = -order
		}
		return order > 0 || order == 0 && (!strict || open)
	}
	if values, ok := p.values(ns); ok {
		return !slices.ContainsFunc(values, func(v node) bool {
			n, ok := size(v)
			return v.Type()&about != 0 && (!ok || !fits(n, false))
		})
	}
	inclusive, exclusive := key, ""
	if about == jsonschema.Number {
		bare := strings.ToLower(strings.TrimPrefix(key, "exclusive"))
		inclusive, exclusive = bare, "exclusive"+strings.ToUpper(bare[:1])+bare[1:]
	}
	for _, n := range ns {
		if at, ok := n.Get(inclusive).Rat(); ok && fits(at, false) {
			return true
		}
		if at, ok := n.Get(exclusive).Rat(); ok && fits(at, true) {
			return true
		}
		if names := jsonschema.RequiredNames(n); key == "minProperties" && fits(new(big.Rat).SetInt64(int64(len(names))), false) && !repeats(n) {
			return true
		}
	}
	return lower && limit.Sign() <= 0 && about != jsonschema.Number // a count is never less
}

// repeats reports whether a schema requires a name twice, or lists something other than names.
func repeats(n node) bool {
	names := jsonschema.RequiredNames(n)
	slices.Sort(names)
	return len(slices.Compact(names)) != len(n.Get("required").Elements())
}

// sameDialect reports whether keywords mean the same in both documents.
func sameDialect(a, b node) bool {
	old, now := dialect(a), dialect(b)
	return old != jsonschema.DraftUnknown && now != jsonschema.DraftUnknown && (old == now || !sensitive(a, 0) && !sensitive(b, 0))
}

// dialect returns the draft of a document, or DraftUnknown for draft 4, whose keywords proofs do not know.
func dialect(root node) jsonschema.Draft {
	uri := root.Str("$schema")
	if uri == "" {
		return jsonschema.Draft202012
	}
	if draft := jsonschema.DraftByURI(uri); draft != jsonschema.Draft04 {
		return draft
	}
	return jsonschema.DraftUnknown
}

// sensitive reports whether a document has keywords that drafts treat differently.
func sensitive(v node, depth int) bool {
	if depth > maxDepth {
		return true
	}
	for _, m := range v.Members {
		switch m.Key {
		case "prefixItems", "additionalItems", "dependencies", "dependentRequired", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties",
			"minContains", "maxContains", "$recursiveRef", "$dynamicRef", "$anchor", "if":
			return true
		}
		if m.Key == "items" && m.Value.Kind == jsonschema.KindArray || v.Has("$ref") && isKnown(m.Key) && m.Key != "$ref" || sensitive(m.Value, depth+1) {
			return true
		}
	}
	return slices.ContainsFunc(v.Items, func(inner node) bool { return sensitive(inner, depth+1) })
}
