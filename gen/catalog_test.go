package gen

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/catalog/diff"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
)

// What the comparison of definitions calls compatible is checked against a validator: random schemas are changed at random, and a value
// that only one of the two schemas accepts must be reported.
func TestChangesAgreeWithAValidator(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	said, found := map[string]int{}, 0
	for range 1200 {
		a := randomSchema(r, 3)
		b := changed(r, clone(a))
		if r.IntN(5) == 0 {
			b = map[string]any{"$ref": "#/$defs/X", "$defs": map[string]any{"X": b}}
		}
		items, input, output := compared(t, a, b)
		for _, i := range items {
			said[string(i.Op)]++
		}
		before, errA := validate.Compile(marshal(t, a))
		now, errB := validate.Compile(marshal(t, b))
		if errA != nil || errB != nil {
			t.Fatalf("%v %v: %s, want nil and nil", errA, errB, marshal(t, a))
		}
		for range 50 {
			v := marshal(t, randomValue(r, 3))
			was, is := before.Validate(v) == nil, now.Validate(v) == nil
			// An added or removed property is judged by who uses it, not by the values that it allows.
			byUse := slices.ContainsFunc(items, func(i diff.Item) bool { return i.Keyword == "property" })
			switch {
			case was == is:
				continue
			case was && input != diff.Breaking && !byUse, is && output != diff.Breaking && !byUse:
				t.Errorf("%s is accepted by one side only, input %s, output %s:\n%s\n%s\n%+v", v, input, output, marshal(t, a), marshal(t, b), items)
				return
			}
			found++
		}
	}
	if found < 300 {
		t.Errorf("only %d values told the schemas apart, want at least 300", found)
	}
	for _, op := range []diff.Op{diff.Added, diff.Removed, diff.Widened, diff.Narrowed, diff.Changed, diff.Required, diff.Optional, diff.Respelled} {
		if said[string(op)] < 5 {
			t.Errorf("%s was said %d times: %v, want at least 5", op, said[string(op)], said)
		}
	}
}

// compared returns the report about a tool whose input and output both change from a to b.
func compared(t *testing.T, a, b any) (items []diff.Item, input, output diff.Impact) {
	t.Helper()
	one := func(s any) *catalog.Catalog {
		raw := marshal(t, map[string]any{"name": "t", "inputSchema": s, "outputSchema": s})
		server, _ := catalog.NewServer("s", "", "", []json.RawMessage{raw})
		c, err := catalog.New([]catalog.Server{server})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	input, output = diff.NoImpact, diff.NoImpact
	for _, c := range diff.Catalogs(one(a), one(b), nil) {
		switch c.Kind {
		case diff.Input:
			input, items = c.Impact, c.Items
		case diff.Output:
			output = c.Impact
		}
	}
	return items, input, output
}

func marshal(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func clone(v any) any {
	b, _ := json.Marshal(v)
	var out any
	_ = json.Unmarshal(b, &out)
	return out
}

var schemaTypes = []string{"null", "boolean", "integer", "number", "string", "array", "object"}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// randomSchema always returns an object of keywords, since an input schema must be one.
func randomSchema(r *rand.Rand, depth int) map[string]any {
	s := map[string]any{}
	for range 1 + r.IntN(3) {
		key, value := randomKeyword(r, depth)
		s[key] = value
	}
	return s
}

func randomKeyword(r *rand.Rand, depth int) (string, any) {
	inner := func() any {
		if depth == 0 {
			return map[string]any{"type": pick(r, schemaTypes...)}
		}
		return randomSchema(r, depth-1)
	}
	switch r.IntN(16) {
	case 0, 1:
		return "type", pick(r, schemaTypes...)
	case 2:
		return "type", []any{pick(r, schemaTypes[:4]...), pick(r, schemaTypes[4:]...)}
	case 3:
		return "enum", []any{pick[any](r, "x", 1, nil, true), pick[any](r, "xy", 2, false)}
	case 4:
		return "const", pick[any](r, "x", 1, nil)
	case 5:
		return pick(r, "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), r.IntN(4)
	case 6:
		return pick(r, "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), r.IntN(3)
	case 7:
		return "pattern", pick(r, "^x", "y$")
	case 8, 9:
		return "properties", map[string]any{pick(r, "a", "b"): inner(), pick(r, "b", "c"): inner()}
	case 10:
		return "required", []any{pick(r, "a", "b", "c")}
	case 11:
		return "additionalProperties", pick[any](r, true, false, inner())
	case 12:
		return "items", inner()
	case 13:
		return pick(r, "anyOf", "oneOf", "allOf"), []any{inner(), inner()}
	case 14:
		return "prefixItems", []any{inner()}
	}
	switch r.IntN(3) {
	case 0:
		return "not", inner()
	case 1:
		return "title", "words"
	}
	return "uniqueItems", true
}

// changed changes one keyword, at this level or deeper, or only the spelling.
func changed(r *rand.Rand, v any) any {
	s, ok := v.(map[string]any)
	if !ok {
		return v
	}
	switch keys := sorted(s); r.IntN(6) {
	case 0:
		delete(s, pick(r, keys...))
	case 1:
		return map[string]any{"allOf": []any{s}}
	case 2, 3, 4:
		key := pick(r, keys...)
		switch inner := s[key].(type) {
		case map[string]any:
			if name := pick(r, append(sorted(inner), "")...); name != "" && key == "properties" {
				inner[name] = changed(r, inner[name])
			} else if key != "properties" {
				s[key] = changed(r, inner)
			}
		case []any:
			if i := r.IntN(len(inner)); key != "type" && key != "enum" && key != "required" {
				inner[i] = changed(r, inner[i])
			}
		}
	default:
		key, value := randomKeyword(r, 1)
		s[key] = value
	}
	return s
}

func sorted(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(10); {
	case n == 0:
		return pick[any](r, nil, true, false)
	case n <= 2:
		return pick[any](r, 0, 1, 2, 3, 1.5, -1)
	case n <= 4 || depth == 0:
		return pick(r, "", "x", "xy", "zzz")
	case n <= 6:
		list := []any{}
		for range r.IntN(3) {
			list = append(list, randomValue(r, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for range r.IntN(4) {
		object[pick(r, "a", "b", "c", fmt.Sprint("d", r.IntN(2)))] = randomValue(r, depth-1)
	}
	return object
}
