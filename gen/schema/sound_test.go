package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	santhosh "github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/ir/irtest"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
	"github.com/mcpgen/mcpgen/gen/schema/listing"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
)

// FuzzSound makes a schema and values by chance; each value that a validator accepts must be one of the type, and if it is an object be
// accepted by the schema as it is listed.
func FuzzSound(f *testing.F) {
	for seed := range uint64(64) {
		f.Add(seed, byte(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, dialect byte) {
		checkRandom(t, seed, dialect)
	})
}

// TestRandomSchemasAreSound is FuzzSound with as many seeds as take no time.
func TestRandomSchemasAreSound(t *testing.T) {
	accepted, schemas := 0, uint64(1500)
	if testing.Short() {
		schemas = 600
	}
	for seed := range schemas {
		accepted += checkRandom(t, seed*7919+1, byte(seed))
		if t.Failed() {
			return
		}
	}
	if accepted < int(schemas) {
		t.Errorf("only %d values were accepted by %d schemas: the test says little, want at least %d", accepted, schemas, int(schemas))
	}
}

// checkRandom returns how many values were accepted by the schema made of a seed.
func checkRandom(t *testing.T, seed uint64, dialect byte) int {
	t.Helper()
	g := &chance{rand.New(rand.NewPCG(seed, 1))}
	uri := []jsonschema.Draft{jsonschema.Draft202012, jsonschema.Draft201909, jsonschema.Draft07, jsonschema.Draft06, jsonschema.Draft04, jsonschema.DraftUnknown}[int(dialect)%6].URI()
	head := ""
	if uri != "" {
		head = fmt.Sprintf(`"$schema": %q, `, uri)
	}
	raw := json.RawMessage(fmt.Sprintf(`{%s"$defs": {"A": %s, "B": %s}, "definitions": {"C": %s}, "allOf": [%s]}`, head, g.schema(2), g.schema(2), g.schema(1), g.schema(3)))
	v, err := validate.Compile(raw)
	if err != nil {
		return 0 // a reference that is nothing but itself
	}
	root, err := jsonschema.Parse(raw, jsonschema.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if read, _ := jsonschema.DraftOf(root); jsonschema.DraftByURI(v.Dialect()) != read {
		return 0 // it breaks a rule of its dialect, and was taken for one of an older
	}
	s, notes := Convert(raw)
	listed := compileListed(t, raw)
	accepted := 0
	for range 30 {
		value := g.value(3)
		if v.Validate(json.RawMessage(value)) != nil {
			continue
		}
		accepted++
		if err := listed.Validate(json.RawMessage(value)); err != nil && value[0] == '{' {
			t.Errorf("seed %d %d: what is listed refuses %s: %v\nschema %s\nlisted %s", seed, dialect, value, err, raw, listing.Input(raw))
			return accepted
		}
		held, err := irtest.Accepts(&s, []byte(value))
		if err != nil {
			t.Fatal(err)
		}
		if !held {
			t.Errorf("seed %d %d: the type refuses %s\nschema %s\ntype %s %s\nnotes %v", seed, dialect, value, raw, ir.Key(s.Root), defsText(s), notes)
			return accepted
		}
	}
	return accepted
}

// TestListedInputsAreSound makes input schemas with alternatives at the root, and objects: those that a schema accepts are accepted by
// what is listed.
func TestListedInputsAreSound(t *testing.T) {
	accepted, schemas := 0, uint64(500)
	if testing.Short() {
		schemas = 200
	}
	for seed := range schemas {
		g := &chance{rand.New(rand.NewPCG(seed, 2))}
		var members []string
		for _, draft := range []jsonschema.Draft{jsonschema.Draft202012, jsonschema.Draft07, jsonschema.Draft04} {
			if g.IntN(4) == 0 {
				members = []string{fmt.Sprintf(`"$schema": %q`, draft.URI())}
			}
		}
		members = append(members, fmt.Sprintf(`"$defs": {"A": %s, "B": %s}, "definitions": {"C": %s}`, g.schema(2), g.schema(2), g.schema(1)))
		for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
			if g.IntN(2) == 0 {
				members = append(members, fmt.Sprintf(`%q: %s`, keyword, g.list(3, 3)))
			}
		}
		members = append(members, g.pick(`"type": "object"`, `"properties": {"a": {"type": "integer"}}`, `"properties": {"a": {}}, "additionalProperties": false`, `"required": ["a"]`))
		raw := json.RawMessage("{" + strings.Join(members, ", ") + "}")
		v, err := validate.Compile(raw)
		if err != nil {
			continue
		}
		listed := compileListed(t, raw)
		for range 30 {
			value := json.RawMessage(g.value(3))
			if value[0] != '{' || v.Validate(value) != nil {
				continue
			}
			accepted++
			if err := listed.Validate(value); err != nil {
				t.Fatalf("seed %d: what is listed refuses %s: %v\nschema %s\nlisted %s", seed, value, err, raw, listing.Input(raw))
			}
		}
	}
	if accepted < int(schemas) {
		t.Errorf("only %d objects were accepted by %d schemas: the test says little, want at least %d", accepted, schemas, int(schemas))
	}
}

// compileListed returns what is listed for an input schema, which clients must take: as a schema of the newest draft, without
// alternatives at the root.
func compileListed(t *testing.T, raw json.RawMessage) *validate.Validator {
	t.Helper()
	listed := listing.Input(raw)
	c := santhosh.NewCompiler()
	c.Draft = santhosh.Draft2020
	if err := c.AddResource("listed.json", bytes.NewReader(listed)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Compile("listed.json"); err != nil {
		t.Fatalf("a client cannot read what is listed: %v\nschema %s\nlisted %s", err, raw, listed)
	}
	var root map[string]any
	if err := json.Unmarshal(listed, &root); err != nil || root["type"] != "object" || root["properties"] == nil || root["$schema"] != nil {
		t.Fatalf("%s is listed as %s, %v", raw, listed, err)
	}
	for _, keyword := range []string{"oneOf", "anyOf", "allOf", "not", "enum", "const", "$ref"} {
		if root[keyword] != nil {
			t.Fatalf("a host refuses the %s at the root of %s, want root[keyword] nil", keyword, listed)
		}
	}
	v, err := validate.Compile(listed)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func defsText(s ir.Schema) string {
	var b strings.Builder
	for _, def := range s.Defs {
		fmt.Fprintf(&b, "\n  %s = %s", def.Name, ir.Key(def.Type))
	}
	return b.String()
}

// chance makes schemas and values that have something to do with each other: few names, few values.
type chance struct{ *rand.Rand }

func (g *chance) pick(options ...string) string { return options[g.IntN(len(options))] }

func (g *chance) name() string { return g.pick(`"a"`, `"b"`, `"c"`, `"a"`) }

func (g *chance) scalar() string {
	return g.pick(`null`, `true`, `false`, `0`, `1`, `1.0`, `2`, `1.5`, `"x"`, `"y"`, `"a"`, `""`, `"x"`)
}

func (g *chance) value(depth int) string {
	if depth == 0 || g.IntN(4) == 0 {
		return g.scalar()
	}
	switch g.IntN(5) {
	case 0, 1:
		items := make([]string, g.IntN(4))
		for i := range items {
			items[i] = g.value(depth - 1)
		}
		return "[" + strings.Join(items, ",") + "]"
	default:
		var members []string
		for _, name := range []string{`"a"`, `"b"`, `"c"`, `"d"`} {
			if g.IntN(5) < 2 {
				members = append(members, name+":"+g.value(depth-1))
			}
		}
		return "{" + strings.Join(members, ",") + "}"
	}
}

func (g *chance) list(depth, most int) string {
	out := make([]string, 1+g.IntN(most))
	for i := range out {
		out[i] = g.schema(depth)
	}
	return "[" + strings.Join(out, ",") + "]"
}

// schema is an object of one to three keywords, most of them with schemas of less depth in them.
func (g *chance) schema(depth int) string {
	if depth == 0 || g.IntN(8) == 0 {
		return g.leaf()
	}
	var members []string
	seen := map[string]bool{}
	for range 1 + g.IntN(3) {
		key, value := g.keyword(depth - 1)
		if !seen[key] {
			seen[key] = true
			members = append(members, fmt.Sprintf("%q: %s", key, value))
		}
	}
	return "{" + strings.Join(members, ", ") + "}"
}

func (g *chance) leaf() string {
	return g.pick(`{}`, `{}`, `{"type": "string"}`, `{"type": "integer"}`, `{"type": ["number", "null"]}`, `{"type": "object"}`, `{"type": "array"}`,
		`{"enum": ["x", 1, null]}`, `{"enum": [true, 1.0, {"a": 1}, []]}`, `{"const": "x"}`, `{"const": 1}`, `{"const": ["x"]}`, `{"const": {"a": 1}}`,
		`{"type": "boolean"}`, `{"$ref": "#/$defs/A"}`, `{"$ref": "#/$defs/B"}`, `{"$ref": "#/definitions/C"}`, `{"$ref": "#"}`, `{"$ref": "#/allOf/0"}`,
		`{"minLength": 1}`, `{"minimum": 1}`, `{"required": ["a"]}`, `{"not": {"required": ["b"]}}`, `{"type": "string", "nullable": true}`)
}

// keyword returns a keyword and a value for it.
func (g *chance) keyword(depth int) (key, value string) {
	sub := func() string { return g.schema(depth) }
	props := func() string {
		return fmt.Sprintf(`{"a": %s, "b": %s}`, sub(), sub())
	}
	switch g.IntN(28) {
	case 0, 1, 2:
		return "properties", props()
	case 3, 4:
		return "type", g.pick(`"object"`, `"array"`, `"string"`, `"integer"`, `["object", "null"]`, `["array", "object"]`, `["integer", "string"]`)
	case 5:
		return "required", g.pick(`["a"]`, `["b", "a"]`, `["d"]`)
	case 6:
		return "additionalProperties", g.pick(`false`, `true`, sub())
	case 7:
		return "patternProperties", fmt.Sprintf(`{%s: %s}`, g.pick(`"^a"`, `"[bd]"`, `""`, `"^.*$"`), sub())
	case 8:
		return "items", g.pick(sub(), sub(), g.list(depth, 2))
	case 9:
		return "prefixItems", g.list(depth, 2)
	case 10:
		return g.pick("minItems", "maxItems", "minProperties", "maxProperties"), g.pick("0", "1", "2")
	case 11, 12:
		return "allOf", g.list(depth, 3)
	case 13, 14:
		return "anyOf", g.list(depth, 3)
	case 15, 16:
		return "oneOf", g.list(depth, 3)
	case 17, 18:
		return "not", sub()
	case 19, 20, 21:
		return g.pick("if", "then", "else"), sub()
	case 22:
		return g.pick("contains", "additionalItems", "propertyNames"), sub()
	case 23:
		return g.pick("dependentRequired", "dependencies"), fmt.Sprintf(`{%s: [%s]}`, g.name(), g.name())
	case 24:
		return g.pick("dependentSchemas", "dependencies"), fmt.Sprintf(`{%s: %s}`, g.name(), sub())
	case 25:
		return g.pick("unevaluatedProperties", "unevaluatedItems"), g.pick("false", "false", sub())
	case 26:
		return "enum", fmt.Sprintf(`[%s, %s, %s]`, g.scalar(), g.value(2), g.scalar())
	}
	return "$ref", g.pick(`"#/$defs/A"`, `"#/$defs/B"`, `"#/definitions/C"`, `"#"`)
}
