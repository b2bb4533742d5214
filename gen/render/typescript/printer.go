package typescript

import (
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/render"
)

// mode is the use of printed types. The modes differ for objects whose schemas say nothing about undeclared properties.
type mode int

const (
	// accept is for what a script writes: such an object accepts more properties than it declares.
	accept mode = iota
	// result is for what a script reads: such an object has only the properties that it declares.
	result
)

// printer prints the types of one schema.
type printer struct {
	schema *ir.Schema
	stored string // the file that contains the schema, if any
	mode   mode
	root   string            // the name of the schema's root
	names  map[string]string // of definitions
	widths map[string]int    // widths of definitions found so far
	// standalone is set for types that compilers and people read by themselves. The documentation of properties is above them, where
	// editors show it but where it costs a model more. Lists of limited length are tuples, which a script that computes a list cannot
	// produce.
	standalone bool
	// learned is set for types that were learned and declared by nobody. Where they say nothing, the type is any, as for results without a
	// type.
	learned bool
	// bare leaves out documentation, and puts objects on one line regardless of their length.
	bare bool
	// refersToRoot is set once a type has referred to the root by name.
	refersToRoot bool
}

// newPrinter prints s under the name root. Definitions get names of their own from scope; other is appended to a name that is taken.
func newPrinter(s *ir.Schema, mode mode, root, other string, scope render.Scope) *printer {
	p := &printer{schema: s, mode: mode, root: root, names: map[string]string{}, widths: map[string]int{}}
	sole, _ := p.soleDef()
	for _, def := range s.Defs {
		if def.Name == sole {
			p.names[sole] = root
			continue
		}
		name := ident.Pascal(def.Name)
		if scope[name] {
			name += other
		}
		p.names[def.Name] = scope.Name(name)
	}
	return p
}

// declaration is a type that a wrapper's file declares, with its documentation above it.
type declaration struct{ name, code, doc string }

// refers reports whether t contains a reference.
func refers(t ir.Type) bool {
	found := false
	ir.Walk(t, func(t ir.Type) bool {
		_, ref := t.(ir.Ref)
		found = found || ref
		return !found
	})
	return found
}
