package typescript

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/render/internal/rendertest"
)

// TestTypesOfAnIndex imports types of tools from the index of their server, including types with the same name.
func TestTypesOfAnIndex(t *testing.T) {
	person := func(field string) ir.Def {
		return ir.Def{Name: "Person", Type: ir.Object{Fields: []ir.Field{textField(field)}}}
	}
	team := ir.Def{Name: "Team", Type: ir.Object{Fields: []ir.Field{{Name: "lead", Type: ir.Ref{Name: "Person"}, Required: true}}}}
	place := ir.Def{Name: "Place", Type: ir.Object{Fields: []ir.Field{textField("street")}}}
	tool := func(name string, defs ...ir.Def) render.Tool {
		root := ir.Object{}
		for _, d := range defs {
			root.Fields = append(root.Fields, ir.Field{Name: strings.ToLower(d.Name), Type: ir.Ref{Name: d.Name}, Required: true})
		}
		return render.Tool{ID: "s__" + name, Name: name, Input: ir.Schema{Root: root, Defs: defs}}
	}
	out, err := render.Render([]render.Server{{Key: "s", Dir: "s", Tools: []render.Tool{
		tool("one", person("name"), team, place), tool("two", person("email"), team), tool("three", place), tool("four"),
	}}}, []*render.Language{Language()})
	if err != nil {
		t.Fatal(err)
	}
	index := string(out.Tree["s/index.ts"])
	for _, line := range []string{
		`export { one, type OneInput } from "./one.ts";`, `export { two, type TwoInput } from "./two.ts";`,
		`export * from "./three.ts";`, `export * from "./four.ts";`, `export type { Place } from "./one.ts";`,
	} {
		if !strings.Contains(index, "\n"+line+"\n") {
			t.Errorf("%s is not in\n%s", line, index)
		}
	}
	dir := rendertest.Write(t, out.Tree)
	text := `import { OneInput, type ThreeInput, TwoInput, Place, four } from "./s/index.ts";
const place: Place = { street: "x" };
export const all: [OneInput, TwoInput, ThreeInput] = [
  { person: { name: "x" }, team: { lead: { name: "x" } }, place }, { person: { email: "x" }, team: { lead: { email: "x" } } }, { place },
];
await four();
`
	if err := os.WriteFile(filepath.Join(dir, "script.ts"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	rendertest.Run(t, dir, rendertest.Checker(t, "tsc"), "-p", ".", "--verbatimModuleSyntax", "false")
}

func textField(name string) ir.Field { return ir.Field{Name: name, Type: ir.String{}, Required: true} }
