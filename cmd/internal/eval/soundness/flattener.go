package soundness

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// object is a JSON object of a schema or a value.
type object = map[string]any

const (
	// maxAlternatives bounds the alternatives of one schema.
	maxAlternatives = 24
	// maxExpand bounds nested references and combinations in one place.
	maxExpand = 12
)

// flattener expands a schema into alternatives without references, allOf, anyOf, oneOf and conditions. The result is an
// approximation that suggests values; a validator then decides whether they fit.
type flattener struct {
	root any
	// named holds schemas by $id, and by $anchor and $dynamicAnchor with a leading #.
	named map[string]any
}

func newFlattener(root any) *flattener {
	f := &flattener{root: root, named: map[string]any{}}
	f.collect(root, 0)
	return f
}

func (f *flattener) collect(v any, depth int) {
	if depth > 60 {
		return
	}
	switch v := v.(type) {
	case object:
		for _, key := range []string{"$id", "id", "$anchor", "$dynamicAnchor"} {
			if name, ok := v[key].(string); ok && name != "" {
				if strings.HasSuffix(key, "nchor") {
					name = "#" + name
				}
				if _, taken := f.named[name]; !taken {
					f.named[name] = v
				}
			}
		}
		for _, sub := range sorted(v) {
			f.collect(sub, depth+1)
		}
	case []any:
		for _, sub := range v {
			f.collect(sub, depth+1)
		}
	}
}

// resolve returns the schema that a reference names. For one outside the document, it returns true (any value).
func (f *flattener) resolve(ref string) any {
	if v, ok := f.named[ref]; ok {
		return v
	}
	base, fragment, _ := strings.Cut(ref, "#")
	at := f.root
	if base != "" {
		named, ok := f.named[base]
		if !ok {
			return true
		}
		at = named
	}
	if fragment == "" {
		return at
	}
	if !strings.HasPrefix(fragment, "/") {
		if v, ok := f.named["#"+fragment]; ok {
			return v
		}
		return true
	}
	for token := range strings.SplitSeq(fragment[1:], "/") {
		if plain, err := url.PathUnescape(token); err == nil {
			token = plain
		}
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch here := at.(type) {
		case object:
			at = here[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(here) {
				return true
			}
			at = here[i]
		}
	}
	return at
}

// flat returns the alternatives of a schema. There are none if no value fits.
func (f *flattener) flat(schema any) []object { return f.expand(schema, maxExpand) }

func (f *flattener) expand(schema any, depth int) []object {
	s, ok := schema.(object)
	if !ok {
		if schema == false {
			return nil
		}
		return []object{{}}
	}
	if depth == 0 {
		return []object{{}}
	}
	own := object{}
	for key, v := range s {
		switch key {
		case "$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "if", "then", "else", "$defs", "definitions":
		default:
			own[key] = v
		}
	}
	out := []object{own}
	for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if ref, ok := s[key].(string); ok {
			out = meetAll(out, f.expand(f.resolve(ref), depth-1))
		}
	}
	for _, sub := range list(s["allOf"]) {
		out = meetAll(out, f.expand(sub, depth-1))
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		var branches []object
		for _, sub := range list(s[key]) {
			branches = append(branches, f.expand(sub, depth-1)...)
		}
		if len(list(s[key])) > 0 {
			out = meetAll(out, branches)
		}
	}
	if s["if"] != nil {
		yes := meetAll(out, meetAll(f.expand(s["if"], depth-1), f.orAny(s["then"], depth)))
		out = append(yes, meetAll(out, f.orAny(s["else"], depth))...)
	}
	return out[:min(len(out), maxAlternatives)]
}

func (f *flattener) orAny(schema any, depth int) []object {
	if schema == nil {
		return []object{{}}
	}
	return f.expand(schema, depth-1)
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func meetAll(a, b []object) []object {
	var out []object
	for _, x := range a {
		for _, y := range b {
			if len(out) == maxAlternatives {
				return out
			}
			out = append(out, meet(x, y))
		}
	}
	return out
}

// meet merges two flat schemas: it combines properties, joins required, and intersects types and enums. For other keywords
// it prefers a.
func meet(a, b object) object {
	out := maps.Clone(a)
	for key, y := range b {
		x, both := a[key]
		switch {
		case !both:
			out[key] = y
		case key == "properties" || key == "patternProperties":
			out[key] = meetProperties(x, y)
		case key == "required":
			out[key] = append(slices.Clone(list(x)), list(y)...)
		case key == "type":
			out[key] = meetTypes(typeNames(x), typeNames(y))
		case key == "items" || key == "additionalProperties":
			out[key] = object{"allOf": []any{x, y}}
		case key == "enum":
			out[key] = slices.DeleteFunc(slices.Clone(list(x)), func(v any) bool { return !hasValue(list(y), v) })
		}
	}
	return out
}

func meetProperties(x, y any) any {
	a, okA := x.(object)
	b, okB := y.(object)
	if !okA || !okB {
		return x
	}
	out := maps.Clone(a)
	for name, schema := range b {
		if other, both := a[name]; both {
			schema = object{"allOf": []any{other, schema}}
		}
		out[name] = schema
	}
	return out
}

func typeNames(v any) []string {
	if name, ok := v.(string); ok {
		return []string{name}
	}
	var out []string
	for _, item := range list(v) {
		if name, ok := item.(string); ok {
			out = append(out, name)
		}
	}
	return out
}

func meetTypes(a, b []string) []any {
	out := []any{}
	for _, x := range a {
		switch {
		case slices.Contains(b, x):
			out = append(out, x)
		case x == "integer" && slices.Contains(b, "number"):
			out = append(out, x)
		case x == "number" && slices.Contains(b, "integer"):
			out = append(out, "integer")
		}
	}
	return out
}

func hasValue(values []any, v any) bool {
	text := string(encode(v))
	return slices.ContainsFunc(values, func(w any) bool { return string(encode(w)) == text })
}
