package soundness

import (
	"encoding/json"
	"testing"

	"github.com/mcpgen/mcpgen/gen"
)

// names returns names that a person might give a type, and names that declarations use for themselves. Each of them is refused or works.
func names() []string {
	return []string{
		"T", "Item", "A", "B", "a", "b", "Node", "Kids", "item_", "_T", "T1", "Type", "TItem", "Values", "Tag", "NodeItem",
		"Any", "Dict", "Enum", "Extra", "Final", "Iterable", "List", "Literal", "Mapping", "Never", "NoReturn", "NoValue", "NotRequired",
		"OneOf", "Open", "Optional", "Protocol", "ReadOnly", "Required", "Sequence", "Set", "Tuple", "TypeAlias", "TypedDict", "TypeVar", "Union",
		"typing", "typing_extensions", "collections", "annotations", "print", "len", "id", "input", "type", "match", "case", "tool", "UNSET",
		"Array", "Boolean", "Date", "Error", "Exclude", "Extract", "Function", "Iterator", "Map", "Number", "Object", "Omit", "Partial", "Pick",
		"Promise", "Readonly", "ReadonlyArray", "Record", "Symbol", "String", "undefined", "as", "async", "declare", "from", "get", "global",
		"infer", "is", "keyof", "module", "namespace", "of", "readonly", "require", "satisfies", "set", "string", "unique", "unknown", "using", "out",
		"asserts", "abstract", "accessor", "constructor", "exports", "intrinsic", "override", "defer",
	}
}

// TestEveryNameIsRefusedOrWorks prints the types of a schema with a bit of everything under each name.
func TestEveryNameIsRefusedOrWorks(t *testing.T) {
	c := Case{Source: "names", Schema: json.RawMessage(`{
		"$defs": {
			"Node": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}, "v": {"type": ["integer", "null"]}}, "required": ["v"]},
			"T": {"type": "object", "properties": {"a": {"enum": ["x", 1]}}, "additionalProperties": false}
		},
		"type": "object", "required": ["node"],
		"properties": {
			"node": {"$ref": "#/$defs/Node"}, "t": {"$ref": "#/$defs/T"}, "none": false, "map": {"type": "object", "additionalProperties": {"type": "number"}},
			"pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "boolean"}], "minItems": 2},
			"item": {"anyOf": [{"type": "array", "items": {"type": "object", "properties": {"b": {}}}}, {"type": "object", "properties": {"b": {"type": "string"}}}]}
		}}`)}
	if err := Fill(&c); err != nil {
		t.Fatal(err)
	}
	if len(c.Accept) < 5 || len(c.Refuse) < 20 {
		t.Fatalf("only %d and %d values, want at least 5 and at least 20", len(c.Accept), len(c.Refuse))
	}
	c.Accept, c.Refuse = c.Accept[:5], c.Refuse[:5] // times a hundred names
	modules := func(language string) []*Module {
		var out []*Module
		for _, name := range names() {
			result, err := gen.Types(c.Schema, gen.TypesOptions{Language: language, Name: name})
			if err != nil {
				if _, refused := err.(*gen.TypeNameError); !refused {
					t.Errorf("%s: %q: %v", language, name, err)
				}
				continue
			}
			named := c
			named.Name = name
			out = append(out, &Module{Case: &named, Source: result.Source, Type: name})
		}
		return out
	}
	ts, py := modules("typescript"), modules("python")
	if len(ts) < 40 || len(py) < 40 {
		t.Errorf("%d names are refused in TypeScript, %d in Python, want len(ts) at least 40 and len(py) at least 40", len(names())-len(ts), len(names())-len(py))
	}
	byTSC, err := CheckTypeScript(t.Context(), Tools{TSC: npmTool(t, "tsc")}, t.TempDir(), ts)
	if err != nil {
		t.Fatal(err)
	}
	report(t, "typescript", byTSC, false)
	byPyright, byMypy, err := CheckPython(t.Context(), Tools{Pyright: npmTool(t, "pyright"), Mypy: mypy(t)}, t.TempDir(), py)
	if err != nil {
		t.Fatal(err)
	}
	report(t, "pyright", byPyright, false)
	report(t, "mypy", byMypy, false)
}
