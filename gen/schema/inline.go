package schema

import (
	"slices"

	"github.com/mcpgen/mcpgen/gen/ir"
)

// inliner replaces references by their definitions if these are short or used once.
type inliner struct {
	c         *converter
	uses      map[string]int
	recursive map[string]bool
	done      map[string]ir.Type // expanded definitions
	height    map[string]int     // of those
}

// count counts the references to each definition.
func (n *inliner) count() {
	use := func(t ir.Type) bool {
		if ref, ok := t.(ir.Ref); ok {
			n.uses[ref.Name]++
		}
		return true
	}
	ir.Walk(n.c.root.typ, use)
	for _, def := range n.c.reachable(n.c.root.typ, func(def *definition) ir.Type { return def.typ }) {
		ir.Walk(def.typ, use)
	}
}

// inlined returns the definition that replaces t, or nil if t stays.
func (n *inliner) inlined(t ir.Type) *definition {
	ref, ok := t.(ir.Ref)
	if !ok || ref.Name == "" || n.recursive[ref.Name] {
		return nil
	}
	def := n.c.byName[ref.Name]
	if def == nil {
		return nil
	}
	typ := n.expandDef(def)
	once := n.uses[ref.Name] == 1
	if (tiny(typ) && (once || len(phrase(n.c.doc(def.target))) <= maxInPlace)) || (once && n.height[def.name] <= maxInlined) {
		return def
	}
	return nil
}

// expandDef returns a definition's type with its references replaced.
func (n *inliner) expandDef(def *definition) ir.Type {
	if t, ok := n.done[def.name]; ok {
		return t
	}
	n.c.convertDef(def)
	n.done[def.name] = def.typ
	t := n.expand(def.typ)
	n.done[def.name] = t
	n.height[def.name] = height(t)
	return t
}

func (n *inliner) expand(t ir.Type) ir.Type {
	switch t := t.(type) {
	case ir.Ref:
		if def := n.inlined(t); def != nil {
			return n.expandDef(def)
		}
		return t
	case ir.Object:
		fields := slices.Clone(t.Fields)
		for i := range fields {
			fields[i].Doc = n.doc(fields[i].Doc, fields[i].Type)
		}
		t.Fields = fields
		return n.c.alg.Replace(t, n.expand)
	}
	return n.c.alg.Replace(t, n.expand)
}

// doc adds to the documentation of a property the one of the definitions that replace its type, or parts of it.
func (n *inliner) doc(d ir.Doc, t ir.Type) ir.Doc {
	part := func(name string, t ir.Type) {
		if text := phrase(n.doc(ir.Doc{}, t)); text != "" {
			d.Limits = append(slices.Clip(d.Limits), name+text)
		}
	}
	switch t := t.(type) {
	case ir.Ref:
		if def := n.inlined(t); def != nil {
			d.Add(n.doc(n.c.doc(def.target), def.typ))
		}
	case ir.Union:
		var others []ir.Type
		for _, m := range t.Members {
			if _, null := m.(ir.Null); !null {
				others = append(others, m)
			}
		}
		if len(others) == 1 {
			return n.doc(d, others[0])
		}
		for _, t := range others {
			if ref, ok := t.(ir.Ref); ok && n.c.byName[ref.Name] != nil {
				if text := phrase(n.doc(ir.Doc{}, t)); text != "" {
					d.Limits = append(slices.Clip(d.Limits), labelled(n.c.byName[ref.Name].target, text))
				}
				continue
			}
			part("", t)
		}
	case ir.Array:
		part("each: ", t.Elem)
	case ir.Tuple:
		for i, item := range t.Items {
			part(position(i), item)
		}
	case ir.Map:
		part("values: ", t.Value)
	case ir.Object:
		if t.Extra != nil {
			part("values: ", t.Extra)
		}
	}
	return d
}

// tiny reports whether a type is about as short as a name: a scalar, a short enumeration, or a list of either.
func tiny(t ir.Type) bool {
	n, length := 0, 0
	ir.Walk(t, func(t ir.Type) bool {
		n++
		switch t := t.(type) {
		case ir.Object, ir.Ref, ir.Tuple:
			if o, ok := t.(ir.Object); ok && len(o.Fields) == 0 {
				break
			}
			if _, ok := t.(ir.Ref); ok {
				break
			}
			n = maxTiny + 1
		case ir.Literal:
			length += len(t.Text)
		}
		return n <= maxTiny
	})
	return n <= maxTiny && length <= 40
}

// height returns how deep objects and lists are nested.
func height(t ir.Type) int {
	h, outer := 0, true
	ir.Walk(t, func(inner ir.Type) bool {
		if outer {
			outer = false
			return true
		}
		h = max(h, height(inner))
		return false
	})
	switch t.(type) {
	case ir.Object, ir.Array, ir.Tuple, ir.Map:
		h++
	}
	return h
}
