package python

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/render/internal/text"
)

// Types implements [render.Printer]. The module needs Python 3.11 and nothing else.
func (files) Types(name string, s ir.Schema) ([]byte, error) {
	if reason := checkTypeName(name); reason != "" {
		return nil, fmt.Errorf("print types: %q cannot name a type in Python: %s", name, reason)
	}
	types := render.NewScope(slices.Concat(globals, builtins, moduleWords)...)
	taken := types[name]
	types[name] = true
	p := newPrinter(&s, name+"Item", name+"Item", types, true)
	if taken {
		p.vocabulary = map[string]string{name: types.Name(name + "_")}
	}
	p.module(name)
	var b strings.Builder
	b.WriteString(header + p.prelude())
	for _, d := range p.declarations {
		b.WriteString("\n\n" + d + "\n")
	}
	return []byte(b.String()), nil
}

// checkTypeName implements [render.Language]. Names that declarations import give way, and are allowed.
func checkTypeName(name string) string {
	switch {
	case name == "":
		return "it is empty"
	case strings.Trim(name, "_") == "" || strings.HasPrefix(name, "__"):
		return "names of that form have a meaning of their own"
	case ident.PythonKeyword(name):
		return "it is a word of the language"
	case !plainName(name):
		return "a name is made of ASCII letters, digits and underscores, and begins with a letter"
	case slices.Contains(builtins, name), slices.Contains([]string{"annotations", "bytes", "set", "tuple", "type", "TYPE_CHECKING"}, name):
		return "it has a meaning of its own in the declarations"
	}
	return ""
}

// module declares the root as name.
func (p *printer) module(name string) {
	p.root, p.rootNamed, p.rootDone, p.rootWhole = name, false, true, true
	doc := text.Field(name, p.schema.Doc, false, p.stored)
	object, ok := p.flatten(p.schema.Root).(ir.Object)
	switch {
	case !ok || !p.isClass(object):
		p.bare[""] = true
		p.alias(name, doc, func() []string {
			parts := p.parts(p.schema.Root, name+"Item")
			if p.join(parts) == p.anything() {
				// Type checkers reject some values where any value is expected: pyright rejects [[]], and mypy some where the type is
				// object.
				return []string{"list[" + p.word("Any") + "]", p.word("Mapping") + "[str, " + p.word("Any") + "]", "str", "float", "bool", "None"}
			}
			return parts
		})
	case p.sealed(object):
		p.class(name, object, doc)
	default:
		fields := p.types.Name(name + "Fields")
		p.class(fields, object, doc)
		p.alias(name, "", func() []string { return append([]string{fields}, p.openness(object)...) })
	}
}

// prelude prints the imports of a module, and the definitions for which Python has no name, which the wrappers of a tree import from their
// client.
func (p *printer) prelude() string {
	var head, body strings.Builder
	if p.uses("Open") {
		head.WriteString("# mypy: disable-error-code=\"attr-defined,call-arg\"\n")
		dict := p.need("TypedDict")
		body.WriteString("\nif " + p.need("TYPE_CHECKING") + ":\n    from typing_extensions import " + p.readOnly() + "  # pyright: ignore[reportMissingModuleSource]\n\n" +
			"    class " + p.word("Open") + "(" + dict + ", extra_items=" + p.word("ReadOnly") + "[object]):  # takes undeclared keys too\n        pass\n" +
			"else:\n    class " + p.word("Open") + "(" + dict + "):\n        pass\n")
	}
	if p.uses("NoValue") {
		body.WriteString("\n\nclass " + p.word("NoValue") + ":  # nothing is one: what must not be there\n    pass\n")
	}
	body.WriteString(p.forMypy())
	if p.forward {
		head.WriteString("from __future__ import annotations\n")
	}
	return head.String() + p.imports() + body.String()
}

// forMypy prints the names that mean one thing to mypy and another to pyright.
func (p *printer) forMypy() string {
	var mypy, pyright, before string
	if p.uses("Extra") {
		mypy += "    " + p.word("Extra") + " = " + p.need("Mapping") + "[str, " + p.need("Any") + "]\n"
		pyright += "    " + p.word("Extra") + " = " + p.need("Never") + "  # type: ignore\n"
	}
	if p.uses("OneOf") {
		variable := p.word("_T")
		before = "\n" + variable + " = " + p.need("TypeVar") + "(\"" + variable + "\")\n"
		mypy += "    " + p.word("OneOf") + " = " + p.need("Union") + "[" + p.need("Mapping") + "[str, " + p.need("Any") + "], list[" + p.word("Any") + "], " + p.need("Callable") + "[[" + variable + "], None]]\n"
		pyright += "    " + p.word("OneOf") + " = " + p.need("Union") + "[" + variable + ", " + p.need("Never") + "]  # type: ignore\n"
	}
	if mypy == "" {
		return ""
	}
	return before + "\nif 0:  # for mypy, which knows no extra_items, and tells objects apart by their keys alone\n" + mypy + "else:\n" + pyright
}

// readOnly prints the import of ReadOnly, under a different name if the root has taken that name.
func (p *printer) readOnly() string {
	if called := p.word("ReadOnly"); called != "ReadOnly" {
		return "ReadOnly as " + called
	}
	return "ReadOnly"
}

func (p *printer) uses(word string) bool { return p.used[p.word(word)] }

// need records that a word is used, and returns its name in the module.
func (p *printer) need(word string) string { return p.place(p.word(word)) }

// moduleWords are names that the prelude uses in addition to globals and builtins.
var moduleWords = []string{"Callable", "Never", "ReadOnly", "TYPE_CHECKING", "TypeVar", "Union", "_T"}

// imports prints the imports of the words that the module uses.
func (p *printer) imports() string {
	text := ""
	for _, module := range []struct {
		name  string
		words []string
	}{
		{"collections.abc", []string{"Callable", "Mapping", "Sequence"}},
		{"typing", []string{"TYPE_CHECKING", "Any", "Literal", "Never", "NotRequired", "TypeAlias", "TypedDict", "TypeVar", "Union"}},
	} {
		var names []string
		for _, word := range module.words {
			if called := p.word(word); p.used[called] {
				if called != word {
					called = word + " as " + called
				}
				names = append(names, called)
			}
		}
		if len(names) > 0 {
			text += "from " + module.name + " import " + strings.Join(names, ", ") + "\n"
		}
	}
	return text
}
