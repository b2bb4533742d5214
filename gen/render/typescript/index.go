package typescript

import (
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/render"
)

// An index also exports the types of its tools, so that a script can name them. `export *` does that in the fewest tokens, but two modules
// must not export the same name in this way. The index then takes the name from one of them, or leaves it out.

func (w *wrapper) declare(name, code, doc string) { w.add([]declaration{{name, code, doc}}) }

func (w *wrapper) add(declarations []declaration) {
	for _, d := range declarations {
		w.Types = append(w.Types, d.doc+d.code)
	}
	w.declared = append(w.declared, declarations...)
}

func (files) Index(s render.Server, wrappers []render.Wrapper) ([]byte, error) {
	data := struct {
		Doc     string
		Tools   []*wrapper
		Shared  []sharedType
		Modules []render.Export
	}{Doc: docComment("", s.Doc()), Modules: s.Exports(comment)}
	for _, w := range wrappers {
		parts, _ := w.Parts.(*wrapper)
		data.Tools = append(data.Tools, parts)
	}
	data.Shared = exportTypes(data.Tools)
	return render.Fill(layout, "index.ts.tmpl", data)
}

// exportTypes fills in what an index exports from each tool, and returns the types that several tools share. A type that files declare
// differently, or that has the name of a function, is not exported; it remains available in the tool's own file.
func exportTypes(tools []*wrapper) []sharedType {
	texts, times := map[string]string{}, map[string]int{}
	for _, w := range tools {
		texts[w.Function], times[w.Function] = "", 1
	}
	var differ []string
	for _, w := range tools {
		for _, d := range w.declared {
			if code, known := texts[d.name]; known && code != d.code {
				differ = append(differ, d.name)
			}
			texts[d.name] = d.code
			times[d.name]++
		}
	}
	for name, n := range times {
		if n == 1 {
			delete(texts, name)
		}
	}
	unlike := withUsers(differ, texts)
	var shared []sharedType
	done := map[string]bool{}
	for _, w := range tools {
		w.Export = "*"
		if slices.ContainsFunc(w.declared, func(d declaration) bool { return unlike[d.name] }) {
			w.Export = "{ " + w.Function
			for _, d := range w.declared {
				if times[d.name] == 1 {
					w.Export += ", type " + d.name
				}
			}
			w.Export += " }"
		}
		for _, d := range w.declared {
			if times[d.name] > 1 && !unlike[d.name] && !done[d.name] {
				done[d.name] = true
				shared = append(shared, sharedType{d.name, w.Specifier})
			}
		}
	}
	return shared
}

// withUsers returns names, and those whose text mentions one of them. Two declarations with the same text are not the same type if a type
// that they mention differs.
func withUsers(names []string, texts map[string]string) map[string]bool {
	users := map[string][]string{}
	for name, text := range texts {
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \n\t;:,.|&?<>(){}[]=\"'", r) }) {
			if _, declared := texts[word]; declared && word != name {
				users[word] = append(users[word], name)
			}
		}
	}
	out := map[string]bool{}
	for len(names) > 0 {
		name := names[len(names)-1]
		names = names[:len(names)-1]
		if !out[name] {
			out[name] = true
			names = append(names, users[name]...)
		}
	}
	return out
}
