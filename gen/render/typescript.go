package render

import (
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/tree"
	"github.com/mcpgen/mcpgen/templates"
)

// TypeScript returns the target that writes one module per tool, for TypeScript 5.0 and newer in strict mode.
func TypeScript() Target { return tsTarget{} }

type tsTarget struct{}

func (tsTarget) Name() string { return "typescript" }

func (tsTarget) root(t tree.Tree) {
	for _, name := range []string{"client.ts", "package.json", "tsconfig.json"} {
		t[name] = []byte(templates.Text("ts/" + name))
	}
}

type tsTool struct {
	Types               []string
	Doc                 string
	Function, Parameter string
	Result, ID          string
	Specifier, Summary  string
}

func (target tsTarget) server(t tree.Tree, s Server) (map[string]Names, error) {
	functions := ident.Unique(toolNames(s), ident.Camel, tsReserved)
	names := make(map[string]Names, len(s.Tools))
	var index []tsTool
	for i, tool := range s.Tools {
		if other, dup := names[tool.ID]; dup {
			return nil, fmt.Errorf("the id %q stands for %s already", tool.ID, other.File)
		}
		made := target.tool(tool, functions[i])
		content, err := layout("ts/tool.ts.tmpl", made)
		if err != nil {
			return nil, err
		}
		file := s.Dir + "/" + functions[i] + ".ts"
		if err := put(t, file, content); err != nil {
			return nil, err
		}
		names[tool.ID] = Names{File: file, Function: functions[i]}
		index = append(index, made)
	}
	content, err := layout("ts/index.ts.tmpl", struct {
		Doc   string
		Tools []tsTool
	}{tsDoc("", serverText(s)), index})
	if err != nil {
		return nil, err
	}
	return names, put(t, s.Dir+"/index.ts", content)
}

// maxSummary bounds a tool's line in an index, in characters.
const maxSummary = 120

func (tsTarget) tool(tool Tool, function string) tsTool {
	base := ident.Pascal(function)
	types := newAllocator(tsGlobals...)
	types.taken[function] = true
	inputName, outputName := types.name(base+"Input"), types.name(base+"Output")

	input := inputOf(tool.Input)
	in := newTSPrinter(&input, inputName, types)
	out := tsTool{
		Doc: tsDoc("", toolText(tool, function)), Function: function, Result: "unknown",
		ID:        quote(typeScript, tool.ID),
		Specifier: quote(typeScript, "./"+function+".ts"), Summary: summary(typeScript, shortText(tool), maxSummary),
	}
	root, definitions := in.typ(input.Root, ""), in.definitions()
	if strings.HasPrefix(root, "Record<") && !in.refersToRoot && len(input.Doc.Limits) == 0 {
		out.Parameter = "input: " + root
	} else {
		out.Parameter = "input: " + inputName
		out.Types = append(out.Types, tsDoc("", inputText(input.Doc))+"export type "+inputName+" = "+root+";")
	}
	if acceptsEmpty(&input, input.Root) {
		out.Parameter += " = {}"
	}
	out.Types = append(out.Types, definitions...)

	if tool.Output != nil {
		printer := newTSPrinter(tool.Output, outputName, types)
		root := printer.typ(tool.Output.Root, "")
		if root == "unknown" {
			return out
		}
		out.Result = outputName
		out.Types = append(out.Types, tsDoc("", inputText(tool.Output.Doc))+"export type "+outputName+" = "+root+";")
		out.Types = append(out.Types, printer.definitions()...)
	}
	return out
}

// inputText is what a root schema says that the tool itself does not: its limits.
func inputText(d ir.Doc) string {
	return fieldText("", ir.Doc{Limits: d.Limits}, ir.Unknown{}, python)
}

func toolNames(s Server) []string {
	out := make([]string, len(s.Tools))
	for i, t := range s.Tools {
		out[i] = t.Name
	}
	return out
}

// tsReserved reports whether a tool's function and file cannot have that name.
func tsReserved(name string) bool {
	switch name {
	case "index", "client", "callMCPTool",
		"then",                         // a module with it is taken for a promise by import()
		"require", "exports", "module": // belong to the other module system
		return true
	}
	return ident.ReservedFile(name) || ident.TypeScriptReserved(name)
}

// tsGlobals are names that printed types and wrappers rely on.
var tsGlobals = []string{"Array", "Object", "Promise", "Record", "String", "Number", "Boolean", "Symbol", "Function", "callMCPTool"}

// tsDoc returns a documentation comment with a line end, or nothing for no text.
func tsDoc(indent, text string) string {
	lines := comment(typeScript, text)
	if len(lines) == 0 {
		return ""
	}
	for i, line := range lines[1:] {
		lines[i+1] = strings.TrimRight(indent+" * "+line, " ")
	}
	return indent + "/** " + strings.Join(lines, "\n") + " */\n"
}
