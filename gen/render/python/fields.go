package python

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/ir"
)

// odd separates the fields that may have to be declared by a call, see classSyntax, from the others.
func (p *printer) odd(fields []ir.Field) (odd, others []ir.Field) {
	for _, f := range fields {
		if !plainName(f.Name) || slices.Contains(globals, f.Name) || slices.Contains(builtins, f.Name) || p.mayNameType(f.Name) {
			odd = append(odd, f)
		} else {
			others = append(others, f)
		}
	}
	return odd, others
}

// mayNameType reports whether a type of the module can have that name, now or later.
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
	for hint := range p.hints { // with which more may stand before and behind it
		if strings.Contains(name, hint) {
			return true
		}
	}
	return false
}

// hint collects what the classes in t will be called after: the fields that they are the types of.
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

// declares reports whether t is not made of references and what needs no name.
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
