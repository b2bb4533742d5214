// Package python prints wrappers and types for Python 3.11 and newer: one module per tool. Start with [Language].
//
// The types of arguments work with two type checkers: pyright, and mypy, which chooses the class against which it checks a dict display by
// the display's keys alone.
package python

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/render/internal/text"
	"github.com/mcpgen/mcpgen/gen/tree"
	"github.com/mcpgen/mcpgen/templates"
)

// Language returns Python as a target language.
func Language() *render.Language {
	return &render.Language{
		Name: "python", Short: "py", Title: "Python", Ext: ".py", IndexFile: "__init__.py", Comment: "#",
		Client: "client.py", Library: "mcprun.pyi",
		Import: func(dir, function string) string {
			return fmt.Sprintf("from servers.%s import %s", dir, function)
		},
		Exports: func(line, function string) bool {
			return strings.HasPrefix(line, "from ."+function+" import")
		},
		Signature: signature,
		Brief:     brief,
		Example: func(dir, function string, args bool) string {
			argument := ""
			if args {
				argument = "…"
			}
			return fmt.Sprintf("```python\nfrom servers.%[2]s import %[1]s\nout = %[1]s(%[3]s)\n```\n", function, dir, argument)
		},
		CheckTypeName: checkTypeName,
		Printer:       files{},
	}
}

func (files) Root([]render.Server) tree.Tree {
	return tree.Tree{
		"client.py":                       []byte(templates.Text("py/client.py")),
		"mcprun.pyi":                      []byte(templates.Text("py/mcprun.pyi")),
		"pyproject.toml":                  []byte(templates.Text("py/pyproject.toml")),
		"_content.py":                     []byte(templates.Text("py/content.py")),
		"__init__.py":                     []byte(header),
		"py.typed":                        {},
		render.EditorDir + "pyright.json": []byte(templates.Text("py/editor.json")),
		render.EditorDir + "stubs/__builtins__.pyi": []byte(templates.Text("py/builtins.pyi")),
	}
}

func (files) Functions(tools []render.Tool) []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return ident.Unique(names, ident.Snake, reserved)
}

func (files) Wrapper(t render.Tool, function string) (render.Wrapper, error) {
	w := newWrapper(t, function)
	source, err := render.Fill(layout, "tool.py.tmpl", w)
	return render.Wrapper{Source: source, Parts: w}, err
}

func newWrapper(t render.Tool, function string) *wrapper {
	scope := render.NewScope(slices.Concat(globals, builtins)...)
	scope[function] = true
	base := ident.Pascal(function)
	in := newPrinter(&t.Input, base+"Input", base+"Input", scope, true)
	in.around, in.stored = base, t.Stored()
	w := &wrapper{
		Doc:      docComment("    ", text.Join(t.Doc(function), t.InputDoc())),
		Function: function, Result: t.UndeclaredResult(), ID: quote(t.ID), Decorator: "tool",
		Summary: t.Summary(comment),
	}
	if object, ok := plainObject(&t.Input); ok {
		w.Parameters, w.Wire = parameters(in, object)
	} else {
		w.Parameters = "input: " + in.rootExpr()
		if t.NoArguments() {
			w.Parameters += " = ..."
		}
	}
	out := &printer{}
	if t.Output != nil {
		out = newPrinter(t.Output, base+"Output", base+"Item", scope, false)
		out.around, out.stored, out.learned = base, t.Stored(), t.Learned > 0
		w.Result = out.rootExpr()
		out.finishRoot()
	}
	in.finishRoot()
	w.Types = in.declarations
	if t.Output != nil {
		if w.Result != "object" {
			// mypy would report the body as a stub for a function that returns None.
			w.Imports = append(w.Imports, "# mypy: disable-error-code=empty-body")
		}
		if doc := t.OutputDoc(); doc != "" {
			w.Types = append(w.Types, "# "+strings.Join(comment(doc), "\n# "))
		}
		w.Types = append(w.Types, out.declarations...)
	}
	if in.forward || out.forward {
		w.Imports = append(w.Imports, "from __future__ import annotations")
	}
	w.Imports = append(w.Imports, "from ..client import *")
	if in.code || out.code {
		w.Imports = append(w.Imports, "from typing import Literal")
	}
	if costsMypy(w.Types, w.Parameters+" -> "+w.Result) {
		w.Decorator = "any_tool"
		w.Imports = append(w.Imports, "from ..client import any_tool")
	}
	return w
}

func (files) Index(s render.Server, wrappers []render.Wrapper) ([]byte, error) {
	data := struct {
		Doc     string
		Tools   []any
		Modules []render.Export
	}{Doc: docComment("", s.Doc()), Modules: s.Exports(comment)}
	for _, w := range wrappers {
		data.Tools = append(data.Tools, w.Parts)
	}
	return render.Fill(layout, "init.py.tmpl", data)
}

func (files) Resources(s render.Server) ([]byte, error) {
	return render.Fill(layout, "resources.py.tmpl", struct{ Server string }{quote(s.Dir)})
}

func (files) Prompts(s render.Server) ([]byte, error) {
	data := struct {
		Server     string
		Types      []string
		Prompts    []overload
		Many, Code bool
	}{Server: quote(s.Dir)}
	scope := render.NewScope(slices.Concat(globals, builtins, promptWords)...)
	var unread bool
	for _, p := range s.Prompts {
		if !readable(p.Name) {
			unread = true
			continue
		}
		o := overload{Name: "Literal[" + quote(p.Name) + "]", Arguments: "None"}
		data.Code = data.Code || holdsCode(o.Name)
		if len(p.Arguments) > 0 {
			name := ident.Pascal(p.Name) + "Arguments"
			in := newPrinter(&ir.Schema{Root: p.Object()}, name, name, scope, true)
			in.stored = s.Stored()
			o.Arguments = in.rootExpr()
			data.Types = append(data.Types, in.declarations...)
		}
		switch {
		case p.Optional() && o.Arguments == "None":
			o.Arguments += " = None"
		case p.Optional():
			o.Arguments += " | None = None"
		}
		doc := text.Field(p.Name, ir.Doc{Title: p.Title, Description: p.Description}, false, s.Stored())
		o.Doc = strings.TrimSuffix(docComment("        ", doc), "\n")
		data.Prompts = append(data.Prompts, o)
	}
	if unread { // one for all prompts whose names type checkers would misread
		data.Prompts = append(data.Prompts, overload{Name: "str", Arguments: "Mapping[str, object] | None = None"})
	}
	data.Many = len(data.Prompts) > 1
	return render.Fill(layout, "prompts.py.tmpl", data)
}
