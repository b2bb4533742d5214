package diff

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mcpgen/mcpgen/gen/catalog/drift"
)

// TestRandomPairs makes schemas of all keywords at random, and of each another one: what is shown for a pair holds for many values.
func TestRandomPairs(t *testing.T) {
	g := &generator{mutator{rand.New(rand.NewPCG(7, 9))}}
	var values []any
	for range 300 {
		values = append(values, g.value(0))
	}
	shown := 0
	for range 3000 {
		a := g.schema(0)
		old := canonical(a)
		b := decode(t, string(old))
		g.change(b)
		now := canonical(b)
		if string(old) == string(now) || !drift.Covers(read(t, a), read(t, b), false) {
			continue
		}
		from, errA := compile(old)
		to, errB := compile(now)
		if errA != nil || errB != nil {
			continue
		}
		shown++
		for _, v := range values {
			if from.Validate(v) == nil && to.Validate(v) != nil {
				t.Errorf("%s fits\n%s\nand not\n%s", canonical(v), old, now)
				break
			}
		}
	}
	t.Logf("%d pairs shown", shown)
	if shown < 300 {
		t.Errorf("%d pairs shown, want 300", shown)
	}
}

type generator struct{ mutator }

var (
	someTypes  = []any{"string", "integer", "number", "boolean", "null", "array", "object"}
	someValues = []any{json.Number("1"), json.Number("2.5"), "a", "bc", true, nil, []any{json.Number("1")}, fields{"a": json.Number("1")}}
)

func (g *generator) count(n int) json.Number { return json.Number(fmt.Sprint(g.IntN(n))) }

// schema returns a schema of at most four levels.
func (g *generator) schema(depth int) any {
	if depth > 3 || g.IntN(9) == 0 {
		return []any{true, false, fields{}, fields{"type": someTypes[g.IntN(7)]}}[g.IntN(4)]
	}
	n := fields{}
	for range 1 + g.IntN(3) {
		g.keyword(n, depth+1)
	}
	return n
}

func (g *generator) keyword(n fields, depth int) {
	sub := func() any { return g.schema(depth) }
	switch key := []string{"type", "type", "types", "enum", "const", "minimum", "maximum", "minLength", "maxLength", "required", "properties", "properties",
		"additionalProperties", "items", "prefixItems", "anyOf", "oneOf", "allOf", "not", "patternProperties", "propertyNames", "sizes"}[g.IntN(22)]; key {
	case "type":
		n[key] = someTypes[g.IntN(7)]
	case "types":
		n["type"] = []any{someTypes[g.IntN(3)], someTypes[3+g.IntN(4)]}
	case "enum":
		n[key] = []any{someValues[g.IntN(4)], someValues[4+g.IntN(4)]}
	case "const":
		n[key] = someValues[g.IntN(8)]
	case "minimum", "maximum", "minLength", "maxLength":
		n[key] = g.count(4)
	case "required":
		n[key] = []any{[]string{"a", "b"}[g.IntN(2)]}
	case "properties":
		n[key] = fields{"a": sub(), "b": sub()}
	case "prefixItems":
		n[key] = []any{sub()}
	case "anyOf", "oneOf", "allOf":
		n[key] = []any{sub(), sub()}
	case "patternProperties":
		n[key] = fields{[]string{"^a", "b$"}[g.IntN(2)]: sub()}
	case "sizes":
		n["minItems"], n["uniqueItems"], n["minProperties"] = g.count(3), g.IntN(2) == 0, g.count(2)
	default:
		n[key] = sub()
	}
}

// change adds keywords to a schema, or takes some away.
func (g *generator) change(schema any) {
	var all []fields
	schemas(schema, &all)
	for range 1 + g.IntN(2) {
		if len(all) == 0 {
			return
		}
		n := all[g.IntN(len(all))]
		if g.IntN(2) == 0 {
			g.keyword(n, 2)
		}
		for key := range n {
			if g.IntN(4) == 0 {
				delete(n, key)
				break
			}
		}
	}
}

// value returns a value of at most four levels.
func (g *generator) value(depth int) any {
	switch k := g.IntN(9); {
	case k == 0:
		return nil
	case k == 1:
		return g.IntN(2) == 0
	case k == 2 || depth > 2:
		return g.count(5)
	case k == 3:
		return json.Number(fmt.Sprintf("%d.5", g.IntN(4)))
	case k == 4:
		return []string{"", "a", "bc", "abcd"}[g.IntN(4)]
	case k < 7:
		out := fields{}
		for _, name := range []string{"a", "b", "ab", "c"} {
			if g.IntN(2) == 0 {
				out[name] = g.value(depth + 1)
			}
		}
		return out
	}
	out := []any{}
	for range g.IntN(3) {
		out = append(out, g.value(depth+1))
	}
	return out
}
