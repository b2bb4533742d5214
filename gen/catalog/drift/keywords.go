package drift

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/catalog"
)

// types is a set of types of JSON values. A number is an integer or has a fraction.
type types uint8

const (
	null types = 1 << iota
	boolean
	integer
	fraction
	text
	array
	object
	anything = 1<<iota - 1
)

var typeBits = map[string]types{"null": null, "boolean": boolean, "integer": integer, "number": integer | fraction, "string": text, "array": array, "object": object}

// split lists the types of a set.
func (t types) split() []string {
	var out []string
	for _, name := range []string{"null", "boolean", "string", "array", "object"} {
		if t&typeBits[name] != 0 {
			out = append(out, name)
		}
	}
	switch {
	case t&fraction != 0:
		return append(out, "number")
	case t&integer != 0:
		return append(out, "integer")
	}
	return out
}

// aboutTypes returns the types of values that a keyword is about.
func aboutTypes(key string) types {
	switch key {
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return integer | fraction
	case "minLength", "maxLength", "pattern", "contentEncoding", "contentMediaType", "contentSchema":
		return text
	case "items", "prefixItems", "additionalItems", "unevaluatedItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains":
		return array
	case "properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "required", "minProperties",
		"maxProperties", "propertyNames", "dependentRequired", "dependentSchemas", "dependencies":
		return object
	}
	return anything
}

// isKnown reports whether a keyword is one that a proof may leave out on the narrow side.
func isKnown(key string) bool {
	return aboutTypes(key) != anything || slices.Contains([]string{"type", "enum", "const", "format", "not", "if", "then", "else", "allOf", "anyOf", "oneOf", "$ref"}, key)
}

// isAnnotation reports whether a keyword refuses no value.
func isAnnotation(key string) bool {
	return strings.HasPrefix(key, "x-") || slices.Contains([]string{"title", "description", "$comment", "default", "examples", "example", "deprecated",
		"readOnly", "writeOnly", "$schema", "$id", "id", "$defs", "definitions", "$anchor", "enumNames", "enumDescriptions", "markdownDescription"}, key)
}

// typesOf returns the types that a type keyword lists. It is not ok if it has others.
func typesOf(v any) (out types, ok bool) {
	list, many := v.([]any)
	if !many {
		list = []any{v}
	}
	for _, t := range list {
		name, _ := t.(string)
		if typeBits[name] == 0 {
			return 0, false
		}
		out |= typeBits[name]
	}
	return out, len(list) > 0
}

func typeOfValue(v any) types {
	switch v := v.(type) {
	case nil:
		return null
	case bool:
		return boolean
	case json.Number:
		if n, ok := number(v); ok && !n.IsInt() {
			return fraction
		}
		return integer
	case string:
		return text
	case []any:
		return array
	}
	return object
}

// types returns the types of the values that fit ns, and maybe others.
func (p *proof) types(ns []node, depth int) types {
	out := types(anything)
	for _, n := range ns {
		if listed, ok := typesOf(n["type"]); ok {
			out &= listed
		}
		if values, ok := valuesOf(n); ok {
			p.steps += len(values) / 16
			var of types
			for _, v := range values {
				of |= typeOfValue(v)
			}
			out &= of
		}
		for _, key := range []string{"anyOf", "oneOf"} {
			alternatives, ok := n[key].([]any)
			if p.steps += len(alternatives); !ok || depth > 10 || p.steps > maxSteps {
				continue
			}
			var union types
			for _, a := range alternatives {
				union |= p.types(p.conjuncts(a, 0), depth+1)
			}
			out &= union
		}
	}
	return out
}

// valuesOf returns the values that a schema lists.
func valuesOf(n node) ([]any, bool) {
	if v, ok := n["const"]; ok {
		return []any{v}, true
	}
	list, ok := n["enum"].([]any)
	return list, ok
}

// values returns values of which one is each value that fits ns.
func (p *proof) values(ns []node) ([]any, bool) {
	kinds := p.types(ns, 0)
	for _, n := range ns {
		if list, ok := valuesOf(n); ok {
			return slices.DeleteFunc(slices.Clone(list), func(v any) bool { return typeOfValue(v)&kinds == 0 }), true
		}
	}
	switch kinds {
	case null:
		return []any{nil}, true
	case boolean:
		return []any{true, false}, true
	case null | boolean:
		return []any{nil, true, false}, true
	}
	return nil, false
}

// number reads a JSON number that is not too long.
func number(v any) (*big.Rat, bool) {
	s, ok := v.(json.Number)
	if !ok || len(s) > 100 {
		return nil, false
	}
	if _, exponent, ok := strings.Cut(strings.ToLower(string(s)), "e"); ok && len(exponent) > 4 {
		return nil, false
	}
	return new(big.Rat).SetString(string(s))
}

func equal(a, b any) bool {
	return string(catalog.AppendCanonical(nil, a)) == string(catalog.AppendCanonical(nil, b))
}

// measures are what bounds of lengths and counts apply to.
var measures = map[string]func(v any) (int, bool){
	"Length":     func(v any) (int, bool) { s, ok := v.(string); return utf8.RuneCountInString(s), ok },
	"Items":      func(v any) (int, bool) { s, ok := v.([]any); return len(s), ok },
	"Properties": func(v any) (int, bool) { s, ok := v.(node); return len(s), ok },
}

// bounded shows a bound: minimum, maxLength and their kin.
func (p *proof) bounded(ns []node, w node, key string) bool {
	limit, ok := number(w[key])
	if !ok {
		return false
	}
	lower, strict := strings.Contains(strings.ToLower(key), "min"), strings.HasPrefix(key, "exclusive")
	fits := func(n *big.Rat, open bool) bool {
		order := n.Cmp(limit)
		if !lower {
			order = -order
		}
		return order > 0 || order == 0 && (!strict || open)
	}
	if values, ok := p.values(ns); ok {
		return !slices.ContainsFunc(values, func(v any) bool {
			if typeOfValue(v)&aboutTypes(key) == 0 {
				return false
			}
			n, ok := number(v)
			for suffix, measure := range measures {
				if size, is := measure(v); is && strings.HasSuffix(key, suffix) {
					n, ok = new(big.Rat).SetInt64(int64(size)), true
				}
			}
			return !ok || !fits(n, false)
		})
	}
	inclusive, exclusive := key, ""
	switch key {
	case "minimum", "exclusiveMinimum":
		inclusive, exclusive = "minimum", "exclusiveMinimum"
	case "maximum", "exclusiveMaximum":
		inclusive, exclusive = "maximum", "exclusiveMaximum"
	}
	for _, n := range ns {
		if at, ok := number(n[inclusive]); ok && fits(at, false) {
			return true
		}
		if at, ok := number(n[exclusive]); ok && fits(at, true) {
			return true
		}
		if required, _ := n["required"].([]any); key == "minProperties" && fits(new(big.Rat).SetInt64(int64(len(required))), false) && !repeats(required) {
			return true
		}
	}
	return lower && limit.Sign() <= 0 && aboutTypes(key) != integer|fraction // a count is never less
}

func repeats(list []any) bool {
	known := map[any]bool{}
	for _, v := range list {
		name, ok := v.(string)
		if known[name] || !ok {
			return true
		}
		known[name] = true
	}
	return false
}

// sameDialect reports whether keywords mean the same in both documents.
func sameDialect(a, b any) bool {
	x, _ := a.(node)
	y, _ := b.(node)
	old, now := dialect(x), dialect(y)
	return old != "" && now != "" && (old == now || !sensitive(a, 0) && !sensitive(b, 0))
}

// dialect returns the draft of a document; empty if it is not a known one.
func dialect(root node) string {
	s, ok := root["$schema"].(string)
	if !ok {
		return "2020-12"
	}
	for _, draft := range []string{"draft-06", "draft-07", "2019-09", "2020-12"} {
		if strings.Contains(s, "json-schema.org/") && strings.Contains(s, draft) {
			return draft
		}
	}
	return ""
}

// sensitive reports whether a document has what drafts treat differently.
func sensitive(v any, depth int) bool {
	switch v := v.(type) {
	case node:
		for key, inner := range v {
			_, list := inner.([]any)
			_, ref := v["$ref"]
			switch key {
			case "prefixItems", "additionalItems", "dependencies", "dependentRequired", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties",
				"minContains", "maxContains", "$recursiveRef", "$dynamicRef", "$anchor", "if":
				return true
			}
			if key == "items" && list || ref && isKnown(key) && key != "$ref" || depth > maxDepth || sensitive(inner, depth+1) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(inner any) bool { return sensitive(inner, depth+1) })
	}
	return false
}
