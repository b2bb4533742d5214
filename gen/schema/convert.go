// Package schema reads the JSON Schemas that upstream servers send. [Convert] turns one into the language-neutral types
// of package ir; [Compile] makes a validator of one. Both read the raw bytes, keep the order of keys and the digits of
// numbers, and treat the schema as hostile: its size, depth and cost are bounded, and no reference is ever fetched.
//
// Convert refuses nothing. What it cannot express becomes a wider type, never a narrower one, and what it does not
// understand becomes any value and a [Note].
package schema

import (
	"encoding/json"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ir"
)

// Note says what in a schema was not understood, or was left out.
type Note struct {
	// Pointer is the place as a JSON pointer, "" for the root. Hostile text.
	Pointer string
	Message string
}

const (
	// maxSteps bounds the work of one conversion, which references can multiply.
	maxSteps = 50_000
	// maxEnum is how many members an enum may have to be listed in a type.
	maxEnum = 500
	// maxTuple is how many elements a tuple may have to be more than a list.
	maxTuple = 32
	// maxNotes bounds what a schema full of nonsense can make us say.
	maxNotes = 50
)

// kinds is a set of JSON kinds, integers apart from numbers.
type kinds uint8

const (
	kNull kinds = 1 << iota
	kBool
	kInteger
	kNumber
	kString
	kArray
	kObject
	kAll = kNull | kBool | kInteger | kNumber | kString | kArray | kObject
)

// Convert turns a schema into types. It never fails.
func Convert(raw json.RawMessage) (ir.Schema, []Note) {
	root, err := parse(raw, size{})
	if err != nil {
		return ir.Schema{Root: ir.Unknown{}}, []Note{{Message: "the schema " + err.Error() + "; any value is accepted"}}
	}
	c := &converter{root: root, refSiblings: refSiblings(root), names: map[*value]string{}, taken: map[string]bool{}}
	out := ir.Schema{Root: c.schema(root, place{base: root, kinds: kAll}), Doc: c.doc(root)}
	for len(c.queue) > 0 {
		next := c.queue[0]
		c.queue = c.queue[1:]
		c.defs = append(c.defs, ir.Def{Name: c.names[next.target], Type: c.schema(next.target, next.place), Doc: c.doc(next.target)})
	}
	out.Defs = c.defs
	if never(out.Root) && root.kind != kindBool {
		c.note("", "no value fits the schema; any value is accepted")
		out.Root = ir.Unknown{}
	}
	c.breakCycles(&out)
	return out, c.notes
}

// refSiblings reports whether keywords beside $ref count. Before 2019-09 they did not.
func refSiblings(root *value) bool {
	dialect := root.str("$schema")
	for _, old := range []string{"draft-03", "draft-04", "draft-06", "draft-07"} {
		if strings.Contains(dialect, old) {
			return false
		}
	}
	return true
}

type converter struct {
	root        *value
	refSiblings bool
	steps       int
	notes       []Note

	defs  []ir.Def
	names map[*value]string // of schemas that are referred to
	taken map[string]bool
	queue []pendingDef
}

type pendingDef struct {
	target *value
	place  place
}

// place is where in the document a schema stands, and what is known there of the values it describes.
type place struct {
	pointer string
	// base is the schema that "#" refers to: the root, or the nearest one around with an $id.
	base  *value
	kinds kinds
}

func (p place) at(tokens ...string) place {
	for _, token := range tokens {
		p.pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
	}
	return p
}

// inside is a place for a schema that describes another value than p's does.
func (p place) inside(tokens ...string) place {
	p = p.at(tokens...)
	p.kinds = kAll
	return p
}

func (c *converter) note(pointer, message string) {
	if len(c.notes) < maxNotes {
		c.notes = append(c.notes, Note{Pointer: pointer, Message: message})
	}
}

// schema converts the schema v.
func (c *converter) schema(v *value, p place) ir.Type {
	if c.steps++; c.steps > maxSteps {
		if c.steps == maxSteps+1 {
			c.note(p.pointer, "the schema takes too much work to expand; any value is accepted from here on")
		}
		return ir.Unknown{}
	}
	switch {
	case v.kind == kindBool && v.bool:
		return ir.Unknown{}
	case v.kind == kindBool:
		return ir.Never{}
	case v.kind != kindObject:
		c.note(p.pointer, "a schema is an object or a boolean, this is "+v.kind.String()+"; any value is accepted")
		return ir.Unknown{}
	}
	if id := v.str("$id"); id != "" && !strings.HasPrefix(id, "#") {
		p.base = v
	}

	var t ir.Type
	if ref := v.get("$ref"); ref != nil && !c.refSiblings {
		t = c.reference(ref, p)
	} else {
		t = c.conjunction(v, p)
	}
	if v.is("nullable", true) { // OpenAPI 3.0
		t = ir.NewUnion(t, ir.Null{})
	}
	return t
}

// conjunction meets everything that v says of one value.
func (c *converter) conjunction(v *value, p place) ir.Type {
	p.kinds = c.typesOf(v, p)
	t := c.own(v, p)
	for _, keyword := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if ref := v.get(keyword); ref != nil {
			t = ir.Meet(t, c.reference(ref, p))
		}
	}
	for i, sub := range c.list(v, "allOf", p) {
		t = ir.Meet(t, c.schema(sub, p.at("allOf", itoa(i))))
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		branches := c.list(v, keyword, p)
		if len(branches) == 0 || requiresOnly(t, branches) {
			continue
		}
		types := make([]ir.Type, 0, len(branches))
		for i, sub := range branches {
			types = append(types, c.schema(sub, p.at(keyword, itoa(i))))
		}
		t = ir.Meet(t, ir.NewUnion(types...))
	}
	return t
}

// list returns the schemas of an applicator.
func (c *converter) list(v *value, keyword string, p place) []*value {
	l := v.get(keyword)
	if l == nil {
		return nil
	}
	if l.kind != kindArray || len(l.items) == 0 {
		c.note(p.at(keyword).pointer, keyword+" is not a list of schemas; it is ignored")
		return nil
	}
	return l.items
}

// requiresOnly reports whether branches say only which properties of the object t are required. That is left to the
// documentation: a type would have to repeat all properties for each branch.
func requiresOnly(t ir.Type, branches []*value) bool {
	object, ok := t.(ir.Object)
	if !ok || len(object.Fields) == 0 {
		return false
	}
	for _, b := range branches {
		if b.kind != kindObject {
			return false
		}
		for _, m := range b.members {
			switch m.key {
			case "required", "not", "title", "description", "type":
			default:
				return false
			}
		}
	}
	return true
}

// breakCycles replaces references that lead back to their own definition without passing a property or an element:
// a type that is nothing but itself.
func (c *converter) breakCycles(s *ir.Schema) {
	const (
		unseen = iota
		open
		done
	)
	state := map[string]int{}
	var visit func(name string, t ir.Type) ir.Type
	visit = func(name string, t ir.Type) ir.Type {
		switch t := t.(type) {
		case ir.Union:
			return ir.NewUnion(each(t.Members, func(m ir.Type) ir.Type { return visit(name, m) })...)
		case ir.Intersection:
			out := ir.Type(ir.Unknown{})
			for _, m := range t.Members {
				out = ir.Meet(out, visit(name, m))
			}
			return out
		case ir.Ref:
			switch state[t.Name] {
			case open:
				c.note("", "a reference leads back to itself; any value is accepted there")
				return ir.Unknown{}
			case unseen:
				state[t.Name] = open
				replace(s, t.Name, visit)
				state[t.Name] = done
			}
		}
		return t
	}
	state[""] = open
	s.Root = visit("", s.Root)
	state[""] = done
	for i := range s.Defs {
		if name := s.Defs[i].Name; state[name] == unseen {
			state[name] = open
			s.Defs[i].Type = visit(name, s.Defs[i].Type)
			state[name] = done
		}
	}
}

func replace(s *ir.Schema, name string, visit func(string, ir.Type) ir.Type) {
	for i := range s.Defs {
		if s.Defs[i].Name == name {
			s.Defs[i].Type = visit(name, s.Defs[i].Type)
		}
	}
}

func each(types []ir.Type, f func(ir.Type) ir.Type) []ir.Type {
	out := make([]ir.Type, len(types))
	for i, t := range types {
		out[i] = f(t)
	}
	return out
}

func never(t ir.Type) bool {
	_, ok := t.(ir.Never)
	return ok
}
