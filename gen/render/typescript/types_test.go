package typescript

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/render/internal/rendertest"
	"github.com/mcpgen/mcpgen/gen/tree"
)

func goldenTree(t *testing.T) tree.Tree {
	t.Helper()
	result, err := render.Render(rendertest.GoldenServers(t), []*render.Language{Language()})
	if err != nil {
		t.Fatal(err)
	}
	return result.Tree
}

func field(name string, t ir.Type, required bool) ir.Field {
	return ir.Field{Name: name, Type: t, Required: required}
}

func TestTypeScriptTypes(t *testing.T) {
	str, num, never := ir.String{}, ir.Number{}, ir.Never{}
	literal := func(s string) ir.Type { return ir.Literal{Kind: ir.LiteralString, Text: s} }
	for _, tt := range []struct {
		name           string
		typ            ir.Type
		accept, result string // result is empty if it equals accept
	}{
		{"silent", ir.Object{Fields: []ir.Field{field("a", str, true)}}, "{ a: string; [key: string]: unknown }", "{ a: string }"},
		{"closed", ir.Object{Fields: []ir.Field{field("a", str, false)}, Extra: never}, "{ a?: string }", "{ a?: string }"},
		{"closed and empty", ir.Object{Extra: never}, "Record<string, never>", ""},
		{"silent and empty", ir.Object{}, "Record<string, unknown>", ""},
		{"typed extras", ir.Object{Fields: []ir.Field{field("a", str, true)}, Extra: num}, "{ a: string; [key: string]: number | string }", ""},
		{"typed extras of optional", ir.Object{Fields: []ir.Field{field("a", num, false)}, Extra: num}, "{ a?: number; [key: string]: number | undefined }", "{ a?: number; [key: string]: number | undefined }"},
		{"extras of anything", ir.Object{Fields: []ir.Field{field("a", str, true)}, Extra: ir.Unknown{}}, "{ a: string; [key: string]: unknown }", ""},
		{"extras beside anything", ir.Object{Fields: []ir.Field{field("a", ir.Unknown{}, true)}, Extra: num}, "{ a: unknown; [key: string]: unknown }", ""},
		{"forbidden", ir.Object{Fields: []ir.Field{field("a", never, false)}}, "{ a?: never; [key: string]: unknown }", "{ a?: never }"},
		{"odd names", ir.Object{Fields: []ir.Field{field("", str, true), field("__proto__", str, false), field("1", num, true), field("a-b", num, true)}, Extra: never},
			`{ "": string; "__proto__"?: string; "1": number; "a-b": number }`, `{ "": string; "__proto__"?: string; "1": number; "a-b": number }`},
		{"inherited names", ir.Object{Fields: []ir.Field{field("constructor", str, false), field("toString", str, true), field("valueOf", ir.Unknown{}, false)}, Extra: never},
			"{ constructor?: string | Function; toString: string; valueOf?: unknown }", ""},
		{"inherited name and typed extras", ir.Object{Fields: []ir.Field{field("constructor", str, false)}, Extra: str},
			"{ constructor?: string | Function [key: string]: string | Function | undefined }", // on two lines
			"{ constructor?: string | Function [key: string]: string | Function | undefined }"},
		{"map", ir.Map{Value: num}, "Record<string, number>", ""},
		{"map that may be circular", ir.Map{Value: ir.Ref{Name: "d"}}, "{ [key: string]: D }", ""},
		{"tuple", ir.Tuple{Items: []ir.Type{str, ir.Union{Members: []ir.Type{num, ir.Null{}}}}, Required: 1, Rest: never}, "[string, (number | null)?]", ""},
		{"open tuple", ir.Tuple{Items: []ir.Type{str}, Required: 1, Rest: ir.Unknown{}}, "[string, ...unknown[]]", ""},
		{"list with a first element", ir.Tuple{Items: []ir.Type{str}, Required: 1, Rest: str}, "string[]", ""},
		{"list of at most two", ir.Tuple{Items: []ir.Type{str, str}, Rest: never}, "string[]", ""},
		{"list of two", ir.Tuple{Items: []ir.Type{str, str}, Required: 2, Rest: never}, "[string, string]", ""},
		{"array of union", ir.Array{Elem: ir.Union{Members: []ir.Type{str, num}}}, "(string | number)[]", ""},
		{"literals", ir.Union{Members: []ir.Type{literal("a"), literal("*/\u202e"), ir.Null{}}}, `"a"|"*/\u202e"|null`, ""},
		{"numbers", ir.Union{Members: []ir.Type{num, ir.Number{Integer: true}, str}}, "number | string", ""},
		{"intersection", ir.Intersection{Members: []ir.Type{ir.Ref{Name: "d"}, ir.Union{Members: []ir.Type{str, num}}}}, "D & (string | number)", ""},
		{"reference to nothing", ir.Ref{Name: "other"}, "unknown", ""},
	} {
		schema := ir.Schema{Root: tt.typ, Defs: []ir.Def{{Name: "d", Type: str}}}
		if tt.result == "" {
			tt.result = tt.accept
		}
		for mode, want := range map[mode]string{accept: tt.accept, result: tt.result} {
			p := newPrinter(&schema, mode, "T", "", render.NewScope())
			if got := strings.Join(strings.Fields(p.rootType()), " "); got != want {
				t.Errorf("%s, mode %d:\n got %s\nwant %s", tt.name, mode, got, want)
			}
		}
	}
}

// TestIntersectionsStaySmall multiplies out unions through references, where no schema shows how large they become.
func TestIntersectionsStaySmall(t *testing.T) {
	var schema ir.Schema
	var members []ir.Type
	for i := range 8 {
		var u ir.Union
		for j := range 20 {
			u.Members = append(u.Members, ir.Object{Fields: []ir.Field{field(fmt.Sprintf("p%d_%d", i, j), ir.String{}, true)}})
		}
		name := fmt.Sprintf("u%d", i)
		schema.Defs = append(schema.Defs, ir.Def{Name: name, Type: u})
		members = append(members, ir.Ref{Name: name})
	}
	schema.Root = ir.Intersection{Members: members}
	text, err := Language().Types("T", schema)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "export type T = U0 & U1;\n") {
		t.Errorf("the intersection is %.300s, want %q in it", text, "export type T = U0 & U1;\n")
	}
}

// TestTypeNames makes the compiler check modules named like types that others use, or like definitions.
func TestTypeNames(t *testing.T) {
	person := ir.Object{Fields: []ir.Field{
		field("boss", ir.Ref{Name: "Record"}, false), field("self", ir.Ref{}, false), field("toString", ir.String{}, false),
		field("m", ir.Map{Value: ir.Union{Members: []ir.Type{ir.Number{}, ir.Ref{Name: "array"}}}}, false),
		field("plain", ir.Map{Value: ir.String{}}, false), field("none", ir.Object{Extra: ir.Never{}}, false),
	}, Extra: ir.Never{}}
	schema := ir.Schema{Root: person, Defs: []ir.Def{
		{Name: "Record", Type: ir.Object{Fields: []ir.Field{field("x", ir.Ref{Name: "array"}, true)}}},
		{Name: "array", Type: ir.Array{Elem: ir.Ref{Name: "array"}}},
		{Name: "T", Type: ir.Union{Members: []ir.Type{ir.Null{}, ir.Map{Value: ir.Ref{Name: "T"}}}}},
		{Name: "t", Type: ir.Ref{Name: "T"}},
	}}
	files := tree.Tree{"tsconfig.json": []byte(`{"extends": "../tsconfig.json", "include": ["*.ts"]}`)}
	const values = `{ boss: { x: [[], []], more: 1 }, self: {}, m: { a: 1, b: [] }, plain: { a: "b" }, none: {} }`
	for i, name := range []string{"T", "Promise", "Partial", "D", "lower", "$_1"} {
		text, err := Language().Types(name, schema)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Language().Types(name, schema); err != nil || string(again) != string(text) {
			t.Errorf("the types called %q differ from time to time: %v, want string(again) %v and no error", name, err, string(text))
		}
		files[fmt.Sprintf("m%d.ts", i)] = text
		files[fmt.Sprintf("v%d.ts", i)] = fmt.Appendf(nil, "import type { %s as It } from \"./m%d.ts\";\nexport const v: It = %s;\n"+
			"// @ts-expect-error\nexport const w: It = { plain: 1 };\n// @ts-expect-error\nexport const n: It = { none: { a: 1 } };\n", name, i, values)
	}
	// Here, a list of limited length is exact.
	text, err := Language().Types("L", ir.Schema{Root: ir.Tuple{Items: []ir.Type{ir.String{}}, Required: 1, Rest: ir.String{}}})
	if err != nil || !strings.Contains(string(text), "export type L = [string, ...string[]];\n") {
		t.Errorf("%v, want %q in it and no error\n%s", err, "export type L = [string, ...string[]];\n", text)
	}
	// As a schema that only refers to a definition, which takes the root's name.
	text, err = Language().Types("Root", ir.Schema{Root: ir.Ref{Name: "T"}, Defs: schema.Defs})
	if err != nil || !strings.Contains(string(text), "export type Root = null | { [key: string]: Root };\n") {
		t.Errorf("%v, want %q in it and no error\n%s", err, "export type Root = null | { [key: string]: Root };\n", text)
	}
	files["root.ts"] = text
	for _, name := range []string{"", "1a", "a-b", "string", "Record", "Function", "any", "class", "a.b", "é", "__proto__", "keyof"} {
		if _, err := Language().Types(name, schema); err == nil {
			t.Errorf("%q was accepted as the name of a type: got no error, want an error", name)
		}
	}
	all := goldenTree(t)
	for path, content := range files {
		all["names/"+path] = content
	}
	rendertest.Run(t, filepath.Dir(rendertest.Write(t, all)), rendertest.Checker(t, "tsc"), "-p", "servers/names")
}

// TestDeepTypes makes the compiler read types that are nested as deeply as schemas may be.
func TestDeepTypes(t *testing.T) {
	const depth = 300
	files := goldenTree(t)
	for name, wrap := range map[string]func(ir.Type) ir.Type{
		"object": func(t ir.Type) ir.Type { return ir.Object{Fields: []ir.Field{field("a", t, false)}} },
		"extra": func(t ir.Type) ir.Type {
			return ir.Object{Fields: []ir.Field{field("a", ir.String{}, false)}, Extra: t}
		},
		"both": func(t ir.Type) ir.Type {
			return ir.Object{Fields: []ir.Field{field("a", t, false)}, Extra: ir.Number{}}
		},
		"map":   func(t ir.Type) ir.Type { return ir.Map{Value: t} },
		"array": func(t ir.Type) ir.Type { return ir.Array{Elem: t} },
		"union": func(t ir.Type) ir.Type { return ir.Union{Members: []ir.Type{ir.Null{}, ir.Array{Elem: t}}} },
	} {
		var typ ir.Type = ir.String{}
		for range depth {
			typ = wrap(typ)
		}
		text, err := Language().Types("T", ir.Schema{Root: typ})
		if err != nil {
			t.Fatal(err)
		}
		files["deep_"+name+".ts"] = append(text, "export const v: T | undefined = undefined;\n"...)
	}
	rendertest.Run(t, filepath.Dir(rendertest.Write(t, files)), rendertest.Checker(t, "tsc"), "-p", "servers")
}
