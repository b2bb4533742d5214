package python

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/ir"
)

// needCall separates the fields that may have to be declared by a call (see classSyntax) from the others.
func (p *printer) needCall(fields []ir.Field) (called, others []ir.Field) {
	for _, f := range fields {
		if !plainName(f.Name) || slices.Contains(globals, f.Name) || slices.Contains(builtins, f.Name) || p.mayNameType(f.Name) {
			called = append(called, f)
		} else {
			others = append(others, f)
		}
	}
	return called, others
}

// mayNameType reports whether a type in the module has that name, or may get it later.
func (p *printer) mayNameType(name string) bool {
	if p.types[name] {
		return true
	}
	if !unicode.IsUpper(rune(name[0])) {
		return false
	}
	if p.hints == nil {
		p.hints = map[string]bool{}
		p.hints[p.root] = true
		p.hint(p.schema.Root)
		for _, def := range p.schema.Defs {
			p.hints[p.names[def.Name]] = true
			p.hint(def.Type)
		}
	}
	for hint := range p.hints { // possibly with more text before and after it
		if strings.Contains(name, hint) {
			return true
		}
	}
	return false
}

// hint records the fields of which classes in t are the types, because the classes will be named after them.
func (p *printer) hint(t ir.Type) {
	ir.Walk(t, func(t ir.Type) bool {
		if object, ok := t.(ir.Object); ok {
			for _, f := range object.Fields {
				if declares(f.Type) {
					p.hints[ident.Pascal(f.Name)] = true
				}
			}
		}
		return true
	})
}

// declares reports whether t contains anything that is declared under a name, apart from references.
func declares(t ir.Type) bool {
	found := false
	ir.Walk(t, func(t ir.Type) bool {
		switch t.(type) {
		case ir.Object, ir.Intersection:
			found = true
		case ir.Literal: // may get a name of its own in a recursive type
			found = true
		}
		return !found
	})
	return found
}
