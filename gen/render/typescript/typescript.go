// Package typescript prints wrappers and types for TypeScript 5.0 and newer in strict mode: one module per tool. Start
// with [Language].
package typescript

import (
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/tree"
	"github.com/mcpgen/mcpgen/templates"
)

// Language returns TypeScript as a target language.
func Language() *render.Language {
	return &render.Language{
		Name: "typescript", Short: "ts", Title: "TypeScript", Ext: ".ts", IndexFile: "index.ts", Comment: "//",
		Client: "client.ts", Library: "mcprun.d.ts",
		Import: func(dir, function string) string {
			return fmt.Sprintf(`import { %s } from "./servers/%s/index.ts";`, function, dir)
		},
		Exports: func(line, function string) bool {
			return strings.HasPrefix(line, "export ") && strings.Contains(line, ` from "./`+function+`.ts";`)
		},
		Signature: func(source, function string) string {
			_, head, found := strings.Cut(source, "\nexport async function "+function+"(")
			if !found {
				return ""
			}
			return "export async function " + function + "(" + cutBody(head)
		},
		Brief: brief,
		Example: func(dir, function string, args bool) string {
			argument := ""
			if args {
				argument = "{ … }"
			}
			return fmt.Sprintf("```ts\nimport { %[1]s } from \"./servers/%[2]s/index.ts\";\nconst out = await %[1]s(%[3]s);\n```\n", function, dir, argument)
		},
		CheckTypeName: checkTypeName,
		Printer:       files{},
	}
}

func (files) Root(servers []render.Server) tree.Tree {
	t := tree.Tree{}
	for _, name := range []string{"client.ts", "mcprun.d.ts", "package.json", "tsconfig.json"} {
		t[name] = []byte(templates.Text("ts/" + name))
	}
	t[render.EditorDir+"tsconfig.json"] = []byte(templates.Text("ts/editor.json"))
	t[render.EditorDir+"types/sandbox/index.d.ts"] = []byte(templates.Text("ts/sandbox.d.ts"))
	otherNames(t, servers)
	return t
}

func (files) Functions(tools []render.Tool) []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return ident.Unique(names, ident.Camel, reserved)
}

func (files) Wrapper(t render.Tool, function string) (render.Wrapper, error) {
	w := newWrapper(t, function)
	source, err := render.Fill(layout, "tool.ts.tmpl", w)
	return render.Wrapper{Source: source, Parts: w}, err
}

func newWrapper(t render.Tool, function string) *wrapper {
	base := ident.Pascal(function)
	scope := render.NewScope(globals...)
	scope[function] = true
	inputName, outputName := scope.Name(base+"Input"), scope.Name(base+"Output")
	in := newPrinter(&t.Input, accept, inputName, "Input", scope)
	in.stored = t.Stored()
	w := &wrapper{
		Doc: docComment("", t.Doc(function)), Function: function, ID: quote(t.ID), Specifier: quote("./" + function + ".ts"),
		Summary: t.Summary(comment), Result: t.UndeclaredResult(),
	}
	root, definitions := in.rootType(), in.definitions()
	if strings.HasPrefix(root, "Record<") && !in.refersToRoot && t.InputDoc() == "" {
		w.Parameter = "input: " + root
	} else {
		w.Parameter = "input: " + inputName
		code := alias(inputName, root)
		if in.isObject() {
			code = "export interface " + inputName + " " + root + "\n" // a little shorter
		}
		w.declare(inputName, code, docComment("", t.InputDoc()))
	}
	if t.NoArguments() {
		w.Parameter = strings.Replace(w.Parameter, ":", "?:", 1) // the client treats undefined as {}
	}
	w.add(definitions)
	if t.Output == nil {
		w.Imported = w.Result
		return w
	}
	out := newPrinter(t.Output, result, outputName, "Output", scope)
	out.stored, out.learned = t.Stored(), t.Learned > 0
	if root = out.rootType(); root == "unknown" {
		w.Result = ""
		return w
	}
	w.Result = outputName
	w.declare(outputName, alias(outputName, root), docComment("", t.OutputDoc()))
	w.add(out.definitions())
	return w
}

func (files) Resources(s render.Server) ([]byte, error) {
	return render.Fill(layout, "resources.ts.tmpl", struct{ Server string }{quote(s.Dir)})
}

func (files) Prompts(s render.Server) ([]byte, error) {
	all := ir.Object{Extra: ir.Never{}}
	for _, p := range s.Prompts {
		doc := ir.Doc{Title: p.Title, Description: p.Description}
		all.Fields = append(all.Fields, ir.Field{Name: p.Name, Type: p.Object(), Required: true, Doc: doc})
	}
	p := newPrinter(&ir.Schema{Root: all}, accept, "Prompts", "", render.NewScope(globals...))
	p.stored = s.Stored()
	return render.Fill(layout, "prompts.ts.tmpl", struct{ Server, Type string }{quote(s.Dir), p.rootType()})
}
