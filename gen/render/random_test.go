package render

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/schema"
)

// TestTypesOfRandomSchemas makes schemas by chance and values by chance; each value that a validator accepts must fit
// the type. Objects declare all the names that values use, because what TypeScript says of undeclared properties in a
// literal is a warning about misspelling and not the type.
func TestTypesOfRandomSchemas(t *testing.T) {
	g := &generator{rand.New(rand.NewPCG(1, 2))}
	server := Server{Key: "r", Dir: "r"}
	var ts, py strings.Builder
	py.WriteString("# pyright: basic\n")
	accepted := 0
	for i := range 400 {
		defs := fmt.Sprintf(`"$defs": {"A": %s, "B": %s}`, g.schema(2), g.schema(2))
		raw := json.RawMessage(fmt.Sprintf(`{%s, "allOf": [%s]}`, defs, g.schema(3)))
		v, err := schema.Compile(raw)
		if err != nil {
			continue // a reference that is nothing but itself
		}
		name := fmt.Sprintf("t%d", i)
		input, _ := schema.Convert(soundCase{Schema: raw}.wrapped(t))
		output, _ := schema.Convert(raw)
		server.Tools = append(server.Tools, Tool{ID: "r__" + name, Name: name, Input: input, Output: &output})
		values := []string{}
		for range 60 {
			if value := g.value(3); v.Validate(json.RawMessage(value)) == nil {
				values = append(values, value)
			}
		}
		if len(values) == 0 {
			continue
		}
		accepted += len(values)
		fmt.Fprintf(&ts, "// %s\n", raw)
		fmt.Fprintf(&ts, "import { %s } from \"./r/%s.ts\";\ntype T%d = Awaited<ReturnType<typeof %s>>;\n", name, name, i, name)
		fmt.Fprintf(&py, "# %s\nfrom .r.%s import %s\n", raw, name, name)
		for j, value := range values {
			fmt.Fprintf(&py, "%s(value=%s)\n", name, pyValue(t, json.RawMessage(value)))
			fmt.Fprintf(&ts, "const v%d_%d: T%d = %s; void v%d_%d;\n", i, j, i, value, i, j)
		}
	}
	if accepted < 1000 {
		t.Fatalf("only %d values were accepted by their schemas: the test says nothing", accepted)
	}
	result, err := Render([]Server{server}, []Target{TypeScript(), Python()})
	if err != nil {
		t.Fatal(err)
	}
	result.Tree["values.ts"] = []byte(ts.String())
	result.Tree["values.py"] = []byte(py.String())
	t.Logf("%d schemas, %d values", len(server.Tools), accepted)
	dir := write(t, result.Tree)
	run(t, filepath.Dir(dir), checker(t, "tsc"), "-p", "servers", "--exactOptionalPropertyTypes")
	run(t, dir, checker(t, "pyright"), "-p", ".", "--warnings")
	checkMypy(t, dir)
}

type generator struct{ *rand.Rand }

func (g *generator) pick(options ...string) string { return options[g.IntN(len(options))] }

func (g *generator) schema(depth int) string {
	if depth == 0 {
		return g.pick(`{}`, `true`, `{"type": "string"}`, `{"type": "integer"}`, `{"type": ["number", "null"]}`, `{"enum": ["x", 1, null]}`,
			`{"const": "y"}`, `{"type": "boolean"}`, `{"$ref": "#/$defs/A"}`, `{"$ref": "#/$defs/B"}`, `{"enum": [true, "x"]}`, `{"minLength": 1}`, `{"const": 1.5}`)
	}
	sub := func() string { return g.schema(depth - 1) }
	switch g.IntN(9) {
	case 0, 1:
		extra := g.pick("", `, "additionalProperties": false`, `, "additionalProperties": true`, `, "additionalProperties": `+sub())
		kind := g.pick(`"type": "object", `, `"type": "object", `, "", `"type": ["object", "null"], `)
		return fmt.Sprintf(`{%s"properties": {"a": %s, "b": %s, "c": %s}, "required": [%s]%s}`, kind, sub(), sub(), sub(), g.pick("", `"a"`, `"b", "c"`), extra)
	case 2:
		return fmt.Sprintf(`{"type": "array", "items": %s}`, sub())
	case 3:
		return fmt.Sprintf(`{"type": "array", "prefixItems": [%s, %s]%s}`, sub(), sub(), g.pick("", `, "items": false`, `, "minItems": 1`, `, "items": `+sub(), `, "maxItems": 1`))
	case 4, 5:
		return fmt.Sprintf(`{%s"%s": [%s, %s]}`, g.pick("", "", `"type": ["object", "string"], `, `"type": "object", `), g.pick("anyOf", "oneOf"), sub(), sub())
	case 6:
		return fmt.Sprintf(`{"allOf": [%s, %s]%s}`, sub(), sub(), g.pick("", `, "nullable": true`))
	case 7:
		return fmt.Sprintf(`{"type": "object", "additionalProperties": %s}`, sub())
	}
	return g.schema(0)
}

func (g *generator) value(depth int) string {
	if depth == 0 || g.IntN(3) == 0 {
		return g.pick(`"x"`, `"y"`, `""`, `1`, `1.5`, `0`, `null`, `true`, `false`, `[]`, `{}`)
	}
	sub := func() string { return g.value(depth - 1) }
	if g.IntN(2) == 0 {
		return g.pick("["+sub()+"]", "["+sub()+", "+sub()+"]", "["+sub()+", "+sub()+", "+sub()+"]")
	}
	var parts []string
	for _, name := range []string{"a", "b", "c"} {
		if g.IntN(3) > 0 {
			parts = append(parts, fmt.Sprintf("%q: %s", name, sub()))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
