package soundness

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// mutator changes a valid value in one place, in ways that a type can detect: another kind of value, a value that is not
// listed, a missing required property, an undeclared property, too many or too few elements.
type mutator struct {
	*flattener
	seen map[string]bool
	out  []any
	ways map[string]string // by the text of a value
	// onlyTS holds values, by their text, that no Python type refuses, because bool is a subtype of int.
	onlyTS map[string]bool
}

// mutate adds mutations of v, a value of the given alternatives. put returns the whole value with v replaced. at names the
// place; the elements of a list are one place.
func (m *mutator) mutate(v any, alternatives []object, at string, put func(any) any, depth int) {
	if len(alternatives) == 0 || depth > maxDepth {
		return
	}
	add := func(way string, mutated any) {
		if key := at + " " + way; !m.seen[key] {
			m.seen[key] = true
			whole := put(mutated)
			m.out = append(m.out, whole)
			text := string(encode(whole))
			m.ways[text] = key
			if way == "boolean" && permits(alternatives, "number") && !lists(alternatives, "number") {
				m.onlyTS[text] = true
			}
		}
	}
	own := kindOf(v)
	for _, kind := range mistakes(own) {
		if !permits(alternatives, kind) {
			add(kind, sampleOf(kind))
		}
	}
	if lists(alternatives, own) {
		switch own {
		case "string":
			add("unlisted", "zz-unlisted")
		case "number":
			add("unlisted", json.Number("987654"))
		case "boolean":
			add("unlisted", !v.(bool))
		}
	}
	switch v := v.(type) {
	case object:
		m.mutateObject(v, alternatives, at, add, put, depth)
	case []any:
		m.mutateArray(v, alternatives, at, add, put, depth)
	}
}

// mistakes returns the kinds that represent all wrong kinds for a value of kind own.
func mistakes(own string) []string {
	switch own {
	case "number":
		return []string{"null", "string", "array", "boolean"}
	case "string":
		return []string{"null", "number", "object"}
	case "array":
		return []string{"null", "string", "object"}
	case "object", "boolean":
		return []string{"null", "string", "array"}
	}
	return []string{"string", "number", "object"}
}

func (m *mutator) mutateObject(v object, alternatives []object, at string, add func(string, any), put func(any) any, depth int) {
	shape := ""
	if len(alternatives) > 1 { // members of a union are different places
		shape = fmt.Sprintf("{%q}", slices.Sorted(maps.Keys(v)))
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if slices.ContainsFunc(alternatives, func(s object) bool { return hasValue(list(s["required"]), name) }) {
			without := maps.Clone(v)
			delete(without, name)
			add(shape+"missing "+name, without)
		}
		var sub []object
		for _, s := range alternatives {
			sub = append(sub, m.propertyOf(s, name)...)
		}
		m.mutate(v[name], sub, at+shape+"/"+name, func(x any) any { return put(with(v, name, x)) }, depth+1)
	}
	const extra = "zzUndeclared"
	for _, kind := range kinds() {
		var sub []object
		for _, s := range alternatives {
			sub = append(sub, m.propertyOf(s, extra)...)
		}
		if !permits(sub, kind) {
			add(shape+"extra "+kind, with(v, extra, sampleOf(kind)))
			if len(sub) == 0 {
				break // it is not allowed at all: one kind is enough
			}
		}
	}
}

// propertyOf returns the alternatives for the value of a property of s.
func (m *mutator) propertyOf(s object, name string) []object {
	properties, _ := s["properties"].(object)
	sub, declared := properties[name]
	if declared {
		return m.flat(sub)
	}
	for pattern, sub := range sorted(patterns(s)) {
		if matches(pattern, name) {
			return m.flat(sub)
		}
	}
	for _, key := range []string{"additionalProperties", "unevaluatedProperties"} {
		if s[key] != nil {
			return m.flat(s[key])
		}
	}
	return []object{{}}
}

func (m *mutator) mutateArray(v []any, alternatives []object, at string, add func(string, any), put func(any) any, depth int) {
	for i, item := range v {
		place := "/*"
		var sub []object
		for _, s := range alternatives {
			first, rest := itemsOf(s)
			switch {
			case i < len(first):
				place = fmt.Sprintf("/%d", i)
				sub = append(sub, m.flat(first[i])...)
			case rest != nil:
				sub = append(sub, m.flat(rest)...)
			default:
				sub = append(sub, object{})
			}
		}
		m.mutate(item, sub, at+place, func(x any) any {
			other := slices.Clone(v)
			other[i] = x
			return put(other)
		}, depth+1)
	}
	for _, s := range alternatives {
		first, rest := itemsOf(s)
		if len(first) == 0 {
			continue
		}
		if rest == false || count(s, "maxItems", 1<<20) == len(first) {
			more := slices.Clone(v)
			for len(more) <= len(first) {
				more = append(more, "some text")
			}
			add("longer", more)
		}
		if least := count(s, "minItems", 0); least > 0 && least <= len(v) {
			add("shorter", slices.Clone(v[:least-1]))
		}
	}
}

// itemsOf returns the schemas of the first elements of a list and of the rest, or nil if there is none.
func itemsOf(s object) (first []any, rest any) {
	if old, ok := s["items"].([]any); ok {
		return old, s["additionalItems"]
	}
	return list(s["prefixItems"]), s["items"]
}
