package soundness

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/mcpgen/mcpgen/gen/schema/validate"
)

// Random returns n random cases, the same for the same seed. The schemas combine keywords that interact badly; the values
// are independent of them but use the same few names. Random skips schemas that the validator cannot compile, or that
// accept none of the values.
func Random(n int, seed uint64) []*Case {
	g := &randomGenerator{rand.New(rand.NewPCG(seed, 2))}
	var cases []*Case
	for i := 0; len(cases) < n; i++ {
		raw := json.RawMessage(fmt.Sprintf(`{"$defs": {"A": %s, "B": %s}, "allOf": [%s]}`, g.schema(2), g.schema(2), g.schema(3)))
		v, err := validate.Compile(raw)
		if err != nil {
			continue // a reference to itself and nothing else
		}
		c := &Case{Source: "random", Name: fmt.Sprintf("%d/%d", seed, i), Schema: raw}
		seen := map[string]bool{}
		for range 80 {
			value := g.value(3)
			if seen[value] {
				continue
			}
			seen[value] = true
			decoded, err := decode(json.RawMessage(value))
			if err != nil {
				panic(err) // value makes JSON
			}
			switch fits, known := classify(v, decoded); {
			case known && fits && len(c.Accept) < 25:
				c.Accept = append(c.Accept, json.RawMessage(value))
			case known && !fits && len(c.Refuse) < 10:
				c.Refuse = append(c.Refuse, json.RawMessage(value))
			}
		}
		if len(c.Accept) > 0 {
			cases = append(cases, c)
		}
	}
	return cases
}

// randomGenerator makes random schemas and values.
type randomGenerator struct{ *rand.Rand }

func (g *randomGenerator) pick(options ...string) string { return options[g.IntN(len(options))] }

func (g *randomGenerator) schema(depth int) string {
	if depth == 0 {
		return g.pick(`{}`, `true`, `{"type": "string"}`, `{"type": "integer"}`, `{"type": ["number", "null"]}`, `{"enum": ["x", 1, null]}`,
			`{"const": "y"}`, `{"type": "boolean"}`, `{"$ref": "#/$defs/A"}`, `{"$ref": "#/$defs/B"}`, `{"enum": [true, "x"]}`, `{"minLength": 1}`,
			`{"const": 1.5}`, `{"not": {"type": "string"}}`, `{"enum": [{"a": "x"}, [1], 0]}`, `{"type": "object"}`, `{"required": ["a"]}`)
	}
	sub := func() string { return g.schema(depth - 1) }
	switch g.IntN(15) {
	case 0, 1:
		return fmt.Sprintf(`{%s%s}`, g.kind(), g.properties(sub))
	case 2:
		return fmt.Sprintf(`{"type": "array", "items": %s%s}`, sub(), g.pick("", "", `, "contains": `+sub(), `, "minItems": 1`))
	case 3:
		return fmt.Sprintf(`{"type": "array", "prefixItems": [%s, %s]%s}`, sub(), sub(),
			g.pick("", `, "items": false`, `, "minItems": 1`, `, "items": `+sub(), `, "maxItems": 1`, `, "unevaluatedItems": false`))
	case 4, 5:
		return fmt.Sprintf(`{%s"%s": [%s, %s]}`, g.pick("", "", `"type": ["object", "string"], `, `"type": "object", `), g.pick("anyOf", "oneOf"), sub(), sub())
	case 6:
		return fmt.Sprintf(`{"allOf": [%s, %s]%s}`, sub(), sub(), g.pick("", `, "nullable": true`, `, "unevaluatedProperties": false`))
	case 7:
		return fmt.Sprintf(`{"type": "object", "additionalProperties": %s}`, sub())
	case 8:
		return fmt.Sprintf(`{%s"patternProperties": {"^[ab]$": %s}, "additionalProperties": %s}`, g.kind(), sub(), g.pick("false", sub()))
	case 9:
		return fmt.Sprintf(`{"if": %s, "then": %s, "else": %s}`, sub(), sub(), sub())
	case 10:
		return fmt.Sprintf(`{%s%s, "not": %s}`, g.kind(), g.properties(sub), sub())
	case 11:
		return fmt.Sprintf(`{"type": "object", "%s": [{"required": ["a"]}, {"required": ["b", "c"]}], %s}`, g.pick("anyOf", "oneOf"), g.properties(sub))
	case 12:
		return fmt.Sprintf(`{"type": "object", "dependentSchemas": {"a": %s}, "dependentRequired": {"b": ["c"]}, "propertyNames": {"enum": ["a", "b", "c", "d"]}}`, sub())
	case 13: // told apart by a constant
		return fmt.Sprintf(`{"%s": [{"type": "object", "properties": {"a": {"const": "x"}, "b": %s}, "required": ["a"]%s}, {"type": "object", "properties": {"a": {"const": "y"}, "%s": %s}%s}]}`,
			g.pick("anyOf", "oneOf"), sub(), g.pick("", `, "additionalProperties": false`), g.pick("b", "c", "d"), sub(),
			g.pick("", `, "additionalProperties": false`, `, "required": ["a"]`))
	}
	return g.schema(0)
}

func (g *randomGenerator) kind() string {
	return g.pick(`"type": "object", `, `"type": "object", `, "", `"type": ["object", "null"], `)
}

func (g *randomGenerator) properties(sub func() string) string {
	extra := g.pick("", `, "additionalProperties": false`, `, "additionalProperties": true`, `, "additionalProperties": `+sub(),
		`, "unevaluatedProperties": false`, `, "minProperties": 1`)
	return fmt.Sprintf(`"properties": {"a": %s, "%s": %s, "%s": %s}, "required": [%s]%s`,
		sub(), g.pick("b", "b", "b", "x-y"), sub(), g.pick("c", "c", "list"), sub(), g.pick("", `"a"`, `"b", "c"`, `"d"`), extra)
}

func (g *randomGenerator) value(depth int) string {
	if depth == 0 || g.IntN(3) == 0 {
		return g.pick(`"x"`, `"y"`, `""`, `1`, `1.5`, `0`, `null`, `true`, `false`, `[]`, `{}`)
	}
	sub := func() string { return g.value(depth - 1) }
	if g.IntN(2) == 0 {
		return g.pick("["+sub()+"]", "["+sub()+", "+sub()+"]", "["+sub()+", "+sub()+", "+sub()+"]")
	}
	var parts []string
	for _, name := range []string{"a", "b", "c", "d", "x-y"} {
		if g.IntN(3) > 0 {
			parts = append(parts, fmt.Sprintf("%q: %s", name, sub()))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
