package schema

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/ir"
)

const (
	// minShared is the least size of a type that is named rather than repeated, in bytes of its names and texts.
	minShared = 60
	// maxInPlace bounds the documentation of a short definition that is repeated at each use, in bytes.
	maxInPlace = 30
)

// sharer names the objects and long enumerations that occur several times in a schema with the same documentation.
type sharer struct {
	schema *ir.Schema
	ids    map[string]int  // of types, by their parts
	nodes  []sharedNode    // by id
	unique int             // counts intersections, none of which equals another
	taken  map[string]bool // names in Pascal case
	naming bool            // whether all types are counted, and names are given
}

// sharedNode is a type that occurs in the schema.
type sharedNode struct {
	uses, size int
	def        string // its name, once it has one
}

// share names equal types of s, each once.
func share(s *ir.Schema) {
	h := &sharer{schema: s, ids: map[string]int{}, taken: map[string]bool{}}
	defs := s.Defs
	for _, def := range defs {
		h.taken[ident.Pascal(def.Name)] = true
	}
	root, types := s.Root, make([]ir.Type, len(defs))
	for _, h.naming = range []bool{false, true} {
		h.unique = 0
		root, _ = h.visit(s.Root, nil)
		for i, def := range defs {
			made, id, _ := h.parts(def.Type, []string{def.Name})
			types[i] = made
			if !h.naming {
				h.nodes[id].uses++
				h.nodes[id].def = def.Name
			}
		}
	}
	s.Root = root
	for i := range defs {
		s.Defs[i].Type = types[i]
	}
}

// visit returns t with its named parts replaced by references, and an id that equal types share. path holds the words on the
// way to t.
func (h *sharer) visit(t ir.Type, path []string) (ir.Type, int) {
	out, id, nameable := h.parts(t, path)
	node := &h.nodes[id]
	if !h.naming || !nameable || node.uses < 2 || node.size < minShared {
		return out, id
	}
	if node.def == "" {
		node.def = h.name(path)
		h.schema.Defs = append(h.schema.Defs, ir.Def{Name: node.def, Type: out})
	}
	return ir.Ref{Name: node.def}, id
}

// parts visits the parts of t, and reports whether t may have a name. Only the first of equal types counts its parts.
func (h *sharer) parts(t ir.Type, path []string) (made ir.Type, id int, nameable bool) {
	var key strings.Builder
	var parts []int
	size := 0
	part := func(t ir.Type, word string) ir.Type {
		if t == nil {
			return nil
		}
		to := path
		if word != "" {
			to = append(path[:len(path):len(path)], word)
		}
		made, id := h.visit(t, to)
		fmt.Fprintf(&key, " %d", id)
		parts = append(parts, id)
		return made
	}
	out := t
	switch t := t.(type) {
	case ir.Array:
		key.WriteString("[")
		out = ir.Array{Elem: part(t.Elem, "item")}
	case ir.Tuple:
		fmt.Fprintf(&key, "(%d", t.Required)
		items := make([]ir.Type, len(t.Items))
		for i, item := range t.Items {
			items[i] = part(item, "item")
		}
		key.WriteString(" ;")
		out = ir.Tuple{Items: items, Required: t.Required, Rest: part(t.Rest, "item")}
	case ir.Map:
		key.WriteString("{*")
		out = ir.Map{Value: part(t.Value, "value")}
	case ir.Object:
		key.WriteString("{")
		made := ir.Object{Fields: make([]ir.Field, len(t.Fields))}
		for i, f := range t.Fields {
			fmt.Fprintf(&key, " %q %t %q %q %t", f.Name, f.Required, f.Doc.Title, phrase(f.Doc), f.Doc.Deprecated)
			size += len(f.Name) + len(phrase(f.Doc)) + 10
			f.Type = part(f.Type, f.Name)
			made.Fields[i] = f
		}
		key.WriteString(" +")
		made.Extra = part(t.Extra, "value")
		out, nameable = made, len(t.Fields) > 0 && len(path) > 0
	case ir.Union:
		key.WriteString("|")
		members := make([]ir.Type, len(t.Members))
		nameable = len(path) > 0
		for i, m := range t.Members {
			members[i] = part(m, "")
			if _, literal := m.(ir.Literal); !literal {
				nameable = false
			}
		}
		out = ir.Union{Members: members}
	case ir.Intersection:
		h.unique++
		fmt.Fprintf(&key, "& %d", h.unique)
	default:
		k := ir.Key(t)
		key.WriteString(k)
		size = len(k)
	}
	id, known := h.ids[key.String()]
	if !known {
		id = len(h.nodes)
		h.ids[key.String()] = id
		for _, p := range parts {
			h.nodes[p].uses++
			size += h.nodes[p].size
		}
		h.nodes = append(h.nodes, sharedNode{size: size})
	}
	return out, id, nameable
}

// name returns a new name, made of as few of the last words of path as possible.
func (h *sharer) name(path []string) string {
	for n := 1; n <= len(path); n++ {
		if path[len(path)-n] == "item" && n < len(path) {
			continue
		}
		if name := strings.Join(path[len(path)-n:], " "); !h.taken[ident.Pascal(name)] {
			h.taken[ident.Pascal(name)] = true
			return name
		}
	}
	for n := 2; ; n++ {
		if name := path[len(path)-1] + " " + strconv.Itoa(n); !h.taken[ident.Pascal(name)] {
			h.taken[ident.Pascal(name)] = true
			return name
		}
	}
}
