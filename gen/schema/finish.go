package schema

import (
	"github.com/mcpgen/mcpgen/gen/ir"
)

const (
	// maxInlined bounds the depth of a type that is used once and has no name.
	maxInlined = 12
	// maxTiny bounds the parts of a type that is repeated rather than named.
	maxTiny = 6
)

// finish sets the root of out and the definitions that it needs.
func (c *converter) finish(out *ir.Schema) {
	c.convertReachable()
	c.breakCycles()
	n := inliner{c: c, uses: map[string]int{}, recursive: c.recursive(), done: map[string]ir.Type{}, height: map[string]int{}}
	n.count()
	out.Root, out.Doc = n.expand(c.root.typ), n.doc(out.Doc, c.root.typ)
	for _, def := range c.reachable(out.Root, n.expandDef) {
		typ := n.expandDef(def)
		out.Defs = append(out.Defs, ir.Def{Name: def.name, Type: typ, Doc: n.doc(c.doc(def.target), def.typ)})
	}
	if c.alg.Exhausted() {
		c.note(CodeTooManySteps, "", "the schema takes too much work to combine; some of its types accept more than it")
	}
	if c.printed(out) > maxOutput {
		c.note(CodeTooLarge, "", "the schema would become too many types; any value is accepted")
		c.wide()
		*out = ir.Schema{Root: ir.Unknown{}, Doc: out.Doc}
	}
	share(out)
}

// printed counts the types that are printed for s, up to maxOutput.
func (c *converter) printed(s *ir.Schema) int {
	n := 0
	count := func(ir.Type) bool { n++; return n <= maxOutput }
	ir.Walk(s.Root, count)
	for _, def := range s.Defs {
		ir.Walk(def.Type, count)
	}
	return n
}

// convertReachable converts all definitions that the root needs.
func (c *converter) convertReachable() {
	c.reachable(c.root.typ, func(def *definition) ir.Type {
		c.convertDef(def)
		return def.typ
	})
}

// reachable returns the definitions that t refers to, also through others, in the order of their first use.
func (c *converter) reachable(t ir.Type, typ func(*definition) ir.Type) []*definition {
	var out []*definition
	seen := map[string]bool{"": true}
	collect := func(t ir.Type) bool {
		if ref, ok := t.(ir.Ref); ok && !seen[ref.Name] {
			seen[ref.Name] = true
			if def := c.byName[ref.Name]; def != nil {
				out = append(out, def)
			}
		}
		return true
	}
	ir.Walk(t, collect)
	for i := 0; i < len(out); i++ {
		ir.Walk(typ(out[i]), collect)
	}
	return out
}

// breakCycles replaces references that lead back to their own definition without passing a property or an element.
func (c *converter) breakCycles() {
	state := map[*definition]defState{}
	var visit func(t ir.Type) ir.Type
	resolveDef := func(def *definition) {
		state[def] = defOpen
		def.typ = visit(def.typ)
		state[def] = defDone
	}
	visit = func(t ir.Type) ir.Type {
		switch t := t.(type) {
		case ir.Union, ir.Intersection:
			return c.alg.Replace(t, visit)
		case ir.Ref:
			def := c.byName[t.Name]
			switch {
			case def == nil:
				return ir.Unknown{}
			case state[def] == defOpen:
				c.note(CodeCyclicRef, def.place.pointer, "a reference leads back to itself; any value is accepted there")
				c.wide()
				return ir.Unknown{}
			case state[def] == defUnseen:
				resolveDef(def)
			}
		}
		return t
	}
	defs := append([]*definition{c.root}, c.reachable(c.root.typ, func(def *definition) ir.Type { return def.typ })...)
	for _, def := range defs {
		if state[def] == defUnseen {
			resolveDef(def)
		}
	}
	for _, def := range defs { // Meet may have resolved others while a cycle was broken
		c.convertDef(def)
	}
}

// recursive returns the names of the definitions that refer to themselves, by Tarjan's strongly connected components.
func (c *converter) recursive() map[string]bool {
	f := &components{c: c, index: map[string]int{}, low: map[string]int{}, on: map[string]bool{}, recursive: map[string]bool{}}
	f.visit("")
	return f.recursive
}

type components struct {
	c          *converter
	index, low map[string]int
	stack      []string
	on         map[string]bool
	recursive  map[string]bool
}

func (f *components) visit(name string) {
	f.index[name] = len(f.index) + 1
	f.low[name] = f.index[name]
	f.stack = append(f.stack, name)
	f.on[name] = true
	ir.Walk(f.c.byName[name].typ, func(t ir.Type) bool {
		ref, ok := t.(ir.Ref)
		if !ok || f.c.byName[ref.Name] == nil {
			return true
		}
		switch {
		case ref.Name == name:
			f.recursive[name] = true
		case f.index[ref.Name] == 0:
			f.visit(ref.Name)
			f.low[name] = min(f.low[name], f.low[ref.Name])
		case f.on[ref.Name]:
			f.low[name] = min(f.low[name], f.index[ref.Name])
		}
		return true
	})
	if f.low[name] == f.index[name] {
		f.pop(name)
	}
}

// pop removes from the stack the component that begins with name.
func (f *components) pop(name string) {
	at := len(f.stack) - 1
	for f.stack[at] != name {
		at--
	}
	for _, member := range f.stack[at:] {
		f.on[member] = false
		if len(f.stack)-at > 1 {
			f.recursive[member] = true
		}
	}
	f.stack = f.stack[:at]
}
