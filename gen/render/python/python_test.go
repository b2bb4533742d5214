package python

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/render/internal/rendertest"
	"github.com/mcpgen/mcpgen/gen/schema"
)

// pySource prints the wrapper of one tool.
func pySource(t testing.TB, input, output string) string {
	t.Helper()
	tool := render.Tool{ID: "s__t", Name: "t"}
	tool.Input, _ = schema.Convert(json.RawMessage(input))
	if output != "" {
		out, _ := schema.Convert(json.RawMessage(output))
		tool.Output = &out
	}
	return pyToolSource(t, tool)
}

func pyToolSource(t testing.TB, tool render.Tool) string {
	t.Helper()
	result, err := render.Render([]render.Server{{Key: "s", Dir: "s", Tools: []render.Tool{tool}}}, []*render.Language{Language()})
	if err != nil {
		t.Fatal(err)
	}
	return string(result.Tree["s/t.py"])
}

func TestPythonParameters(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"silent root", `{"type": "object", "properties": {"a": {"type": "string"}}}`, `def t(*, a: str | None = ..., **extra: Any) -> AnyUndeclared: ...`},
		{"closed root", `{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false}`, `def t(*, a: str) -> AnyUndeclared: ...`},
		{"typed rest", `{"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}}`, `def t(*, a: str | None = ..., **extra: int) -> AnyUndeclared: ...`},
		{"nothing declared", `{"type": "object", "properties": {}}`, `def t(**extra: Any) -> AnyUndeclared: ...`},
		{"nothing at all", `{"type": "object", "properties": {}, "additionalProperties": false}`, `def t() -> AnyUndeclared: ...`},
		{"data as keys", `{"type": "object", "additionalProperties": {"type": "integer"}}`, `def t(input: Mapping[str, int] = ...) -> AnyUndeclared: ...`},
		{"null is a value", `{"type": "object", "properties": {"a": {"type": ["string", "null"]}, "b": {}}, "additionalProperties": false}`, `def t(*, a: str | None = None, b: Any = None) -> AnyUndeclared: ...`},
		{"name of the rest", `{"type": "object", "properties": {"extra": {"type": "string"}}}`, `def t(*, extra: str | None = ..., **extra2: Any) -> AnyUndeclared: ...`},
		{"other names", `{"type": "object", "properties": {"a-b": {"type": "string"}, "class": {"type": "string"}}, "additionalProperties": false}`, "@tool(\"s__t\", a_b=\"a-b\", class_=\"class\")\ndef t(*, a_b: str | None = ..., class_: str | None = ...) -> AnyUndeclared: ..."},
		{"documented", `{"type": "object", "properties": {"a": {"type": "string", "description": "An a"}}}`, "def t(*,\n    a: str | None = ..., # An a\n    **extra: Any,\n) -> AnyUndeclared: ..."},
	}
	for _, tt := range tests {
		if got := pySource(t, tt.schema, ""); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got\n%s\nwithout\n%s", tt.name, got, tt.want)
		}
	}
}

func TestPythonInputTypes(t *testing.T) {
	const a, b = `{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]`, `{"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]`
	tests := []struct{ name, schema, want string }{
		{"open", a + `}`, "v: V | Extra"},
		{"open class", a + `}`, "class V(Open):\n    a: str\n"},
		{"closed", a + `, "additionalProperties": false}`, "v: V,"},
		{"closed class", a + `, "additionalProperties": false}`, "class V(TypedDict):\n    a: str\n"},
		{"typed rest", a + `, "additionalProperties": {"type": "integer"}}`, "v: V | Mapping[str, int | str]"},
		{"closed and empty", `{"type": "object", "additionalProperties": false}`, "class V(TypedDict):\n    pass\n"},
		{"told apart by keys", `{"anyOf": [` + a + `}, ` + b + `}]}`, "v: VA | VB | Extra"},
		{"closed and told apart by keys", `{"anyOf": [` + a + `, "additionalProperties": false}, ` + b + `, "additionalProperties": false}]}`, "v: VA | VB,"},
		{"not told apart by keys", `{"anyOf": [` + a + `}, {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}]}`, "v: OneOf[V | TV]"},
		{"object and map", `{"anyOf": [` + a + `}, {"type": "object", "additionalProperties": {"type": "integer"}}]}`, "v: OneOf[V | Mapping[str, int]]"},
		{"lists of objects", `{"anyOf": [{"type": "array", "items": ` + a + `}}, {"type": "array", "items": ` + b + `}}, {"type": "null"}]}`, "v: OneOf[Sequence[V | Extra] | Sequence[TV | Extra]] | None"},
		{"lists of scalars", `{"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "array", "items": {"type": "integer"}}]}`, "v: list[str] | Sequence[int]"},
		{"list of anything", `{"type": "array"}`, "v: list[Any]"},
		{"no str for a list", `{"type": "array", "items": {"type": ["string", "integer"]}}`, "v: list[str | int]"},
		{"forbidden", `{"type": "object", "properties": {"a": false, "b": {"type": "string"}}}`, "a: NoValue"},
		{"no names", `{"type": "object", "properties": {"a-b": {"type": "string"}}}`, "VKeys = TypedDict(\"VKeys\", {\n    \"a-b\": str,\n}, total=False)\n\n\nclass V(VKeys, Open):\n    pass\n"},
		{"names of types", `{"type": "object", "properties": {"list": {"type": "array", "items": {"type": "string"}}}}`, "\"list\": list[str],"},
		{"harmless names of types", `{"type": "object", "properties": {"list": {"type": "string"}}}`, "class V(Open, total=False):\n    list: str\n"},
	}
	for _, tt := range tests {
		got := pySource(t, `{"type": "object", "required": ["v"], "properties": {"v": `+tt.schema+`}}`, "")
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s: got\n%s\nwithout\n%s", tt.name, got, tt.want)
		}
	}
}

func TestPythonOutputIsPlain(t *testing.T) {
	got := pySource(t, `{}`, `{"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object"}}}}`)
	if want := "class TOutput(TypedDict, total=False):\n    a: list[dict[str, object]]\n"; !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwithout\n%s", got, want)
	}
}

func TestPythonSaysWhatIsLearned(t *testing.T) {
	output := ir.Schema{Root: ir.Object{Fields: []ir.Field{{Name: "a", Type: ir.String{}}}}}
	tool := render.Tool{ID: "s__t", Name: "t", Input: ir.Schema{Root: ir.Object{Extra: ir.Never{}}}, Output: &output, Learned: 3}
	if got := pyToolSource(t, tool); !strings.Contains(got, "\n# Learned from 3 replies") {
		t.Errorf("not said in\n%s", got)
	}
	tool.Learned = 0
	if got := pyToolSource(t, tool); strings.Contains(got, "earned") {
		t.Errorf("said in\n%s", got)
	}
}

// TestPythonTypesKeepTheirName prints a schema that needs everything a module can declare, under names that the module uses for something
// else.
func TestPythonTypesKeepTheirName(t *testing.T) {
	raw := json.RawMessage(`{"$defs": {"N": {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}, "up": {"$ref": "#"}}}, "Any": {"enum": ["it's", "\\"]}},
		"anyOf": [{"$ref": "#/$defs/N"}, {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#/$defs/Any"}, "b": {"type": "array", "items": false}, "c": {}}},
		{"type": "array", "items": {"anyOf": [{"$ref": "#"}, {"enum": ["it's"]}]}}, {"type": "string"}]}`)
	s, _ := schema.Convert(raw)
	dir := t.TempDir()
	names := append([]string{"T", "N", "_T"}, append(globals, moduleWords...)...)
	for i, name := range names {
		if strings.ToLower(name) == name || name == "TYPE_CHECKING" {
			continue // not allowed as names of a type
		}
		source, err := Language().Types(name, s)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for j, value := range []string{`{"a": "\\", "b": [], "c": [[{}], 1], "d": [{}]}`, `[{"next": {"next": {}, "more": None}}, "it's", ["x"]]`, `"x"`, `{}`} {
			source = fmt.Appendf(source, "\n\nv%d: %s = %s", j, name, value)
		}
		file := filepath.Join(dir, fmt.Sprintf("m%d.py", i))
		if err := os.WriteFile(file, append(source, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		rendertest.Run(t, dir, "python3", file)
	}
	if err := os.WriteFile(filepath.Join(dir, "pyrightconfig.json"), []byte(`{"typeCheckingMode": "strict", "pythonVersion": "3.11"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	rendertest.Run(t, dir, rendertest.Checker(t, "pyright"), "-p", ".", "--warnings")
	rendertest.CheckMypy(t, dir)
}

func TestPythonLiterals(t *testing.T) {
	long := strings.Repeat("9", 5000) // more digits than Python reads
	for text, want := range map[string]string{"1": "1", "-7": "-7", "1.0": "float", "1e2": "float", "-0": "float", long: "int", "12345678901234567890": "12345678901234567890"} {
		if got, _ := printLiteral(ir.Literal{Kind: ir.LiteralNumber, Text: text}); got != want {
			t.Errorf("%.20s is printed as %.20s, want %s", text, got, want)
		}
	}
}

func TestPythonTypesNeedAName(t *testing.T) {
	for _, name := range []string{"", "class", "a-b", "int", "None", "__x", "é", "TYPE_CHECKING"} {
		if _, err := Language().Types(name, ir.Schema{Root: ir.String{}}); err == nil {
			t.Errorf("%q is taken for a name: got no error, want an error", name)
		}
	}
}

func TestPythonOfLargeSchemas(t *testing.T) {
	var wide, deep, lists strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&wide, `"p%d": {"enum": ["a%d", %d]},`, i, i, i)
	}
	for range 150 {
		deep.WriteString(`{"type": "object", "properties": {"a": `)
		lists.WriteString(`{"type": "array", "items": `)
	}
	tests := []string{
		`{"type": "object", "properties": {` + wide.String() + `"z": {}}}`,
		deep.String() + `{}` + strings.Repeat("}}", 150),
		`{"type": "object", "properties": {"v": ` + lists.String() + `{}` + strings.Repeat("}", 150) + `}}`,
	}
	for _, raw := range tests {
		file := filepath.Join(t.TempDir(), "m.py")
		if err := os.WriteFile(file, []byte(pySource(t, raw, raw)), 0o644); err != nil {
			t.Fatal(err)
		}
		rendertest.Run(t, filepath.Dir(file), "python3", "-m", "py_compile", file)
	}
}

func BenchmarkPython(b *testing.B) {
	server := rendertest.LoadServer(b, rendertest.GoldenDir(b)+"/google-drive.json")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := render.Render([]render.Server{server}, []*render.Language{Language()}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(server.Tools)), "µs/tool")
}

// TestPythonEqualClasses checks that equal objects share a class, and that objects with a different text do not.
func TestPythonEqualClasses(t *testing.T) {
	point := func(y string) string {
		return `{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"` + y + `}},"required":["x","y"],"additionalProperties":false}`
	}
	s, _ := schema.Convert(json.RawMessage(`{"type":"object","properties":{"point":` + point("") + `,"mid":` + point("") +
		`,"via":{"type":"array","items":` + point("") + `},"other":` + point(`,"description":"Down"`) + `},"additionalProperties":false}`))
	source, err := Language().Types("Route", s)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"    point: Point\n", "    mid: Point\n", "    via: Sequence[Point]\n", "    other: Other\n", "    y: float # Down\n"} {
		if !strings.Contains(string(source), want) {
			t.Errorf("no %q in\n%s", want, source)
		}
	}
	if n := strings.Count(string(source), "class "); n != 3 {
		t.Errorf("%d classes, want Point, Other and Route:\n%s", n, source)
	}
}
