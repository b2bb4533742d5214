package soundness

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"

	"github.com/mcpgen/mcpgen/gen/schema/validate"
)

const (
	// maxDepth bounds the depth of values for recursive schemas.
	maxDepth = 7
	// Bounds on the values for the root, for its properties, and for deeper places.
	maxRoot, maxWide, maxVariants = 300, 16, 6
)

// generator generates values for the schemas of one document.
type generator struct {
	*flattener
	draft string
}

// values suggests values for a schema: a minimal one, one with all properties, then one for each alternative, literal and
// property.
func (g *generator) values(schema any, depth int) []any {
	var out []any
	alternatives := g.flat(schema)
	most := maxVariants
	switch depth {
	case 0:
		most = maxRoot
	case 1:
		most = maxWide
	}
	perAlternative := make([][]any, len(alternatives))
	for i, s := range alternatives {
		perAlternative[i] = g.fitting(s, g.ofAlternative(s, depth))
	}
	// Take turns, so that no alternative crowds out the others.
	for n := 0; len(out) < most*max(1, len(alternatives)/2); n++ {
		more := false
		for _, values := range perAlternative {
			if n < len(values) {
				out = append(out, values[n])
				more = true
			}
		}
		if !more {
			break
		}
	}
	return distinct(out)
}

// fitting removes values that a scalar schema does not accept, unless it accepts none of them.
func (g *generator) fitting(s object, values []any) []any {
	for _, key := range []string{"properties", "items", "prefixItems", "additionalProperties", "not", "patternProperties", "$id"} {
		if s[key] != nil {
			return values
		}
	}
	alone := maps.Clone(s)
	if g.draft != "" {
		alone["$schema"] = g.draft
	}
	v, err := validate.Compile(encode(alone))
	if err != nil {
		return values
	}
	kept := slices.DeleteFunc(slices.Clone(values), func(value any) bool { return v.Validate(encode(value)) != nil })
	if len(kept) == 0 {
		return values
	}
	return kept
}

func (g *generator) ofAlternative(s object, depth int) []any {
	var out []any
	if values, listed := literals(s); listed {
		const most = 40
		out = append(out, values[:min(len(values), most)]...)
		if len(values) > most {
			out = append(out, values[len(values)-1])
		}
		if s["nullable"] == true {
			out = append(out, nil)
		}
		return out
	}
	of := kindsOf(s)
	if s["type"] == nil { // the kind that the keywords apply to comes first
		of = slices.Concat(suggested(s), of)
	}
	perKind := make([][]any, 0, len(of))
	for _, kind := range of {
		perKind = append(perKind, g.ofKind(s, kind, depth))
	}
	for n := 0; ; n++ {
		before := len(out)
		for _, values := range perKind {
			if n < len(values) {
				out = append(out, values[n])
			}
		}
		if len(out) == before {
			break
		}
	}
	for _, example := range append(list(s["examples"]), s["default"]) {
		if example != nil {
			out = append(out, example)
		}
	}
	return distinct(out)
}

func suggested(s object) []string {
	for _, hint := range [][2]string{
		{"properties", "object"}, {"required", "object"}, {"additionalProperties", "object"}, {"patternProperties", "object"},
		{"items", "array"}, {"prefixItems", "array"}, {"pattern", "string"}, {"minimum", "number"},
	} {
		if s[hint[0]] != nil {
			return []string{hint[1]}
		}
	}
	return nil
}

func (g *generator) ofKind(s object, kind string, depth int) []any {
	switch kind {
	case "null":
		return []any{nil}
	case "boolean":
		return []any{true, false}
	case "number":
		return numbers(s)
	case "string":
		return texts(s)
	case "array":
		return g.arrays(s, depth)
	}
	return g.objects(s, depth)
}

func (g *generator) objects(s object, depth int) []any {
	properties, _ := s["properties"].(object)
	required := map[string]bool{}
	for _, name := range list(s["required"]) {
		if name, ok := name.(string); ok {
			required[name] = true
		}
	}
	variants := map[string][]any{}
	for name, sub := range properties {
		if depth < maxDepth || required[name] {
			variants[name] = g.values(sub, depth+1)
		}
	}
	plain := object{}
	for name := range required {
		if properties[name] == nil {
			variants[name] = g.undeclared(s, name, depth)
		}
		if len(variants[name]) > 0 {
			plain[name] = variants[name][0]
		}
	}
	full := maps.Clone(plain)
	for name, values := range variants {
		if len(values) > 0 {
			full[name] = values[min(1, len(values)-1)]
		}
	}
	out := append([]any{plain, full}, rows(plain, variants)...)
	for _, name := range slices.Sorted(maps.Keys(variants)) {
		for i, value := range variants[name] {
			out = append(out, with(full, name, value))
			if i == 0 || required[name] {
				out = append(out, with(plain, name, value))
			}
		}
	}
	return append(out, g.extended(s, plain, full, depth)...)
}

// rows returns objects that together have every variant of every property.
func rows(plain object, variants map[string][]any) []any {
	var out []any
	for n := 0; n < maxWide*2; n++ {
		row, fresh := maps.Clone(plain), false
		for name, values := range variants {
			if len(values) > 0 {
				row[name] = values[n%len(values)]
				fresh = fresh || n < len(values)
			}
		}
		if !fresh {
			break
		}
		out = append(out, row)
	}
	return out
}

func with(o object, name string, value any) object {
	o = maps.Clone(o)
	o[name] = value
	return o
}

// undeclared returns values for a property without a schema of its own.
func (g *generator) undeclared(s object, name string, depth int) []any {
	for pattern, sub := range sorted(patterns(s)) {
		if matches(pattern, name) {
			return g.values(sub, depth+1)
		}
	}
	if extra := s["additionalProperties"]; extra != nil && depth < maxDepth {
		return g.values(extra, depth+1)
	}
	return []any{"some text", json.Number("7")}
}

func patterns(s object) object {
	out, _ := s["patternProperties"].(object)
	return out
}

// extended returns objects with undeclared properties, if the schema allows them.
func (g *generator) extended(s, plain, full object, depth int) []any {
	var out []any
	if depth >= maxDepth {
		return nil
	}
	for pattern, sub := range sorted(patterns(s)) {
		if name, ok := matching(pattern); ok {
			for _, value := range g.values(sub, depth+1) {
				out = append(out, with(plain, name, value))
			}
		}
	}
	closed := s["additionalProperties"] == false || s["unevaluatedProperties"] == false
	if closed || s["additionalProperties"] == nil && s["unevaluatedProperties"] == nil && depth > 2 {
		return out
	}
	extra := s["additionalProperties"]
	if extra == nil {
		extra = s["unevaluatedProperties"]
	}
	values := []any{"some text", nil, json.Number("7"), []any{json.Number("1"), "a"}, object{"a": true}}
	if _, typed := extra.(object); typed {
		values = g.values(extra, depth+1)
	}
	for i, value := range values {
		out = append(out, with(plain, "zzExtra", value))
		if i == 0 {
			both := with(with(plain, "zzExtra", value), "zz-other", values[len(values)-1])
			out = append(out, both, with(full, "zzExtra", value))
		}
	}
	return out
}

func (g *generator) arrays(s object, depth int) []any {
	first := list(s["prefixItems"])
	rest := s["items"]
	if old, ok := rest.([]any); ok {
		first, rest = old, s["additionalItems"]
	}
	least, most := count(s, "minItems", 0), count(s, "maxItems", 1<<20)
	var tuple []any
	for _, sub := range first {
		values := g.values(sub, depth+1)
		if len(values) == 0 {
			break
		}
		tuple = append(tuple, values[0])
	}
	items := []any{"some text", json.Number("7")}
	switch {
	case rest == false || depth >= maxDepth:
		items = nil
	case rest != nil:
		items = g.values(rest, depth+1)
	case s["contains"] != nil:
		items = g.values(s["contains"], depth+1)
	}
	out := []any{[]any{}, slices.Clone(tuple)}
	if len(tuple) > 1 {
		out = append(out, slices.Clone(tuple[:1]))
	}
	for i, item := range items {
		l := append(slices.Clone(tuple), item)
		for n := i + 1; len(l) < least && n < i+1+least; n++ {
			l = append(l, items[n%len(items)])
		}
		out = append(out, l)
	}
	if all := slices.Concat(tuple, items); len(all) > 1 {
		out = append(out, all)
	}
	return slices.DeleteFunc(out, func(v any) bool { n := len(v.([]any)); return n < least || n > most })
}

// sorted iterates over an object in the order of its keys.
func sorted(o object) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, key := range slices.Sorted(maps.Keys(o)) {
			if !yield(key, o[key]) {
				return
			}
		}
	}
}

// distinct removes repeated values.
func distinct(values []any) []any {
	seen := map[string]bool{}
	return slices.DeleteFunc(values, func(v any) bool {
		text := string(encode(v))
		dup := seen[text]
		seen[text] = true
		return dup
	})
}
