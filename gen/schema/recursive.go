package schema

import "github.com/mcpgen/mcpgen/gen/ir"

// recursive returns the names of the definitions that lead to themselves, by Tarjan's strongly connected components.
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

// pop takes the component that name is the first of from the stack.
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
