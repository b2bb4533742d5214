package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/schema"
)

// soundCase is a schema with values that its types must accept, and values that they must refuse, so that a type that
// is wider than it need be is seen too.
type soundCase struct {
	Name     string
	Schema   json.RawMessage
	Accept   []json.RawMessage
	Reject   []json.RawMessage // in both languages
	RejectTS []json.RawMessage // in TypeScript only
	// OnlyTS: Python has no type for all of it, and refuses values it should accept only as a literal.
	OnlyTS bool
	// NoValidate: the schema is not one that a validator takes.
	NoValidate bool
	// OpenPy: an output holds undeclared properties, which Python takes from a server but not from a literal.
	OpenPy bool
}

func (c soundCase) id() string { return ident.Snake("case " + c.Name) }

func loadCases(t *testing.T) []soundCase {
	t.Helper()
	paths, err := filepath.Glob("../../testdata/schemas/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no schemas to test: %v", err)
	}
	var all []soundCase
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var cases []soundCase
		if err := json.Unmarshal(raw, &cases); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, cases...)
	}
	return all
}

// wrapped makes the schema of an input whose one property is a value of the case's schema. The property is a resource
// of its own, so that its references still lead where they did.
func (c soundCase) wrapped(t *testing.T) json.RawMessage {
	t.Helper()
	inner := string(bytes.TrimSpace(c.Schema))
	if strings.HasPrefix(inner, "{") && !strings.Contains(inner, `"$id": "https://example.com/me"`) {
		comma := ", "
		if inner == "{}" {
			comma = ""
		}
		inner = `{"$id": "https://example.com/case"` + comma + inner[1:]
	}
	dialect := ""
	if strings.Contains(inner, "draft-07") {
		dialect = `"$schema": "http://json-schema.org/draft-07/schema#", `
	}
	return json.RawMessage(`{` + dialect + `"type": "object", "required": ["value"], "properties": {"value": ` + inner + `}}`)
}

func TestCasesAreTrue(t *testing.T) {
	for _, c := range loadCases(t) {
		if c.NoValidate {
			continue
		}
		v, err := schema.Compile(c.Schema)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		for _, value := range c.Accept {
			if err := v.Validate(value); err != nil {
				t.Errorf("%s: %s should fit its schema: %v", c.Name, value, err)
			}
		}
		for _, value := range append(c.Reject, c.RejectTS...) {
			if v.Validate(value) == nil {
				t.Errorf("%s: %s should not fit its schema", c.Name, value)
			}
		}
	}
}

func TestTypesAcceptWhatSchemasAccept(t *testing.T) {
	cases := loadCases(t)
	server := Server{Key: "s", Dir: "s"}
	for _, c := range cases {
		input, _ := schema.Convert(c.wrapped(t))
		output, _ := schema.Convert(c.Schema)
		server.Tools = append(server.Tools, Tool{ID: "s__" + c.id(), Name: c.id(), Input: input, Output: &output})
	}
	result, err := Render([]Server{server}, []Target{TypeScript(), Python()})
	if err != nil {
		t.Fatal(err)
	}
	var ts, py strings.Builder
	py.WriteString("# pyright: strict, reportUnnecessaryTypeIgnoreComment=true\n")
	for _, c := range cases {
		names := result.Names["typescript"]["s__"+c.id()]
		writeTSCase(t, &ts, c, names, string(result.Tree[names.File]))
		if !c.OnlyTS {
			names = result.Names["python"]["s__"+c.id()]
			writePyCase(t, &py, c, names, string(result.Tree[names.File]))
		}
	}
	result.Tree["cases.ts"] = []byte(ts.String())
	result.Tree["cases.py"] = []byte(py.String())
	checkTypes(t, result.Tree)
}

func writeTSCase(t *testing.T, b *strings.Builder, c soundCase, names Names, source string) {
	output := ident.Pascal(c.id()) + "Output"
	declared := strings.Contains(source, "export type "+output+" =")
	fmt.Fprintf(b, "import { %s } from \"./%s\";\n", names.Function, names.File)
	if declared {
		fmt.Fprintf(b, "import type { %s } from \"./%s\";\n", output, names.File)
	}
	try := func(value json.RawMessage, mark string) {
		literal := tsValue(t, value)
		fmt.Fprintf(b, "%svoid %s({ value: %s });\n", mark, names.Function, literal)
		if declared {
			fmt.Fprintf(b, "%s{ const value: %s = %s; void value; }\n", mark, output, literal)
		}
	}
	for _, value := range c.Accept {
		try(value, "")
	}
	for _, value := range append(c.Reject, c.RejectTS...) {
		try(value, "// @ts-expect-error\n")
	}
}

func writePyCase(t *testing.T, b *strings.Builder, c soundCase, names Names, source string) {
	module := "." + strings.TrimSuffix(strings.ReplaceAll(names.File, "/", "."), ".py")
	fmt.Fprintf(b, "from %s import %s\n", module, names.Function)
	output := ident.Pascal(c.id()) + "Output"
	declared := !c.OpenPy && (strings.Contains(source, "\nclass "+output+"(") || strings.Contains(source, "\n"+output+" = TypedDict("))
	if declared {
		fmt.Fprintf(b, "from %s import %s\n", module, output)
	}
	try := func(value json.RawMessage, mark string) {
		fmt.Fprintf(b, "%s(value=%s)%s\n", names.Function, pyValue(t, value), mark)
		if declared {
			fmt.Fprintf(b, "%s_value: %s = %s%s\n", c.id(), output, pyValue(t, value), mark)
		}
	}
	for _, value := range c.Accept {
		try(value, "")
	}
	for _, value := range c.Reject {
		try(value, "  # pyright: ignore")
	}
}

// tsValue prints a JSON value as an expression. JSON is one, but for __proto__ and what does not print.
func tsValue(t *testing.T, raw json.RawMessage) string {
	return literalValue(t, raw, typeScript, [3]string{"null", "true", "false"})
}

func pyValue(t *testing.T, raw json.RawMessage) string {
	return literalValue(t, raw, python, [3]string{"None", "True", "False"})
}

func literalValue(t *testing.T, raw json.RawMessage, lang language, words [3]string) string {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	var show func(v any) string
	show = func(v any) string {
		switch v := v.(type) {
		case bool:
			if v {
				return words[1]
			}
			return words[2]
		case json.Number:
			return v.String()
		case string:
			return quote(lang, v)
		case []any:
			parts := make([]string, len(v))
			for i, item := range v {
				parts[i] = show(item)
			}
			return "[" + strings.Join(parts, ", ") + "]"
		case map[string]any:
			var parts []string
			for key, item := range v {
				parts = append(parts, quote(lang, key)+": "+show(item))
			}
			sort.Strings(parts)
			return "{" + strings.Join(parts, ", ") + "}"
		}
		return words[0]
	}
	return show(v)
}
