package schema

import (
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ir"
)

// maxScopes is how many different dynamic scopes are told apart.
const maxScopes = 32

// scope says where $dynamicRef and $recursiveRef lead: to the outermost resource on the way that has the anchor.
type scope struct {
	key     string
	anchors map[string]*value // "" is $recursiveAnchor
	homes   map[string]*resource
}

// enter adds a resource to a scope. Scopes that lead to the same places are the same pointer. Anchors that a document
// has only once make no difference.
func (c *converter) enter(s *scope, res *resource) *scope {
	var added []string
	for name := range res.dynamicAnchors {
		if c.source.dynamic[name] > 1 && (s == nil || s.anchors[name] == nil) {
			added = append(added, name)
		}
	}
	if res.recursive && c.source.dynamic[""] > 0 && (s == nil || s.anchors[""] == nil) {
		added = append(added, "")
	}
	if len(added) == 0 {
		return s
	}
	slices.Sort(added)
	next := &scope{anchors: map[string]*value{}, homes: map[string]*resource{}}
	if s != nil {
		next.key = s.key
		for name, v := range s.anchors {
			next.anchors[name], next.homes[name] = v, s.homes[name]
		}
	}
	var key strings.Builder
	key.WriteString(next.key)
	for _, name := range added {
		next.anchors[name], next.homes[name] = res.root, res
		if name != "" {
			next.anchors[name] = res.dynamicAnchors[name]
		}
		key.WriteString("\x00" + name + "\x00" + res.uri.String())
	}
	next.key = key.String()
	if known := c.scopes[next.key]; known != nil {
		return known
	}
	if len(c.scopes) < maxScopes {
		c.scopes[next.key] = next
		return next
	}
	if overflow := c.scopes["overflow"]; overflow != nil {
		return overflow
	}
	c.scopes["overflow"] = &scope{key: "overflow", anchors: map[string]*value{}, homes: map[string]*resource{}}
	return c.scopes["overflow"]
}

// target finds what a reference leads to. Only references within the document are followed; nothing is ever read.
func (c *converter) target(ref *value, p place) (*value, place, bool) {
	if ref.kind != kindString {
		c.note(CodeBadKeyword, p.pointer, "the reference is not a string; any value is accepted")
		return nil, p, false
	}
	to, failure := c.source.resolve(ref.text, p.res)
	switch failure {
	case CodeExternalRef:
		c.note(failure, p.pointer, "the reference leads out of the schema, where nothing is read; any value is accepted")
		return nil, p, false
	case CodeUnresolvedRef:
		c.note(failure, p.pointer, "the reference leads to nothing in the schema; any value is accepted")
		return nil, p, false
	}
	if _, known := c.source.homes[to.target]; !known {
		c.source.homes[to.target] = to.at
	}
	if p.scope != nil {
		name, dynamic := to.name, false
		switch p.pointer[strings.LastIndexByte(p.pointer, '/')+1:] {
		case "$dynamicRef":
			dynamic = name != "" && to.target.str("$dynamicAnchor") == name
		case "$recursiveRef":
			name, dynamic = "", to.target == to.res.root && to.res.recursive
		}
		if dynamic && p.scope.key == "overflow" {
			c.note(CodeTooManySteps, p.pointer, "the reference may lead to too many places; any value is accepted")
			return nil, p, false
		}
		if outer := p.scope.anchors[name]; dynamic && outer != nil {
			to = found{target: outer, res: p.scope.homes[name]}
		}
	}
	at := place{pointer: pointerOf(c.source.pathOf(to.target)), res: to.res, scope: c.enter(p.scope, to.res)}
	return to.target, at, true
}

// reference converts the value of a $ref, $dynamicRef or $recursiveRef, which p points at.
func (c *converter) reference(ref *value, p place) ir.Type {
	target, at, ok := c.target(ref, p)
	if !ok {
		c.wide()
		return ir.Unknown{}
	}
	if target.kind == kindBool || (target.kind == kindObject && len(target.members) == 0) {
		return c.schema(target, at)
	}
	return ir.Ref{Name: c.define(target, at).name}
}

// definition is a schema that is referred to. It becomes a named type, unless it is short or used only once.
type definition struct {
	name   string
	target *value
	place  place
	state  defState
	typ    ir.Type
	exact  bool // typ holds nothing but what the schema accepts
}

type defState int

const (
	defUnseen defState = iota
	defOpen
	defDone
)

// defKey tells definitions apart: a schema can mean different things in different dynamic scopes.
type defKey struct {
	target *value
	scope  *scope
}

func (c *converter) define(target *value, at place) *definition {
	key := defKey{target, at.scope}
	if target == c.source.root && at.scope == c.enter(nil, at.res) {
		return c.root
	}
	if def := c.defs[key]; def != nil {
		return def
	}
	def := &definition{name: c.defName(target), target: target, place: at}
	c.defs[key] = def
	c.byName[def.name] = def
	return def
}

// convertDef makes the type of a definition, once.
func (c *converter) convertDef(def *definition) {
	if def.state != defUnseen {
		return
	}
	def.state = defOpen
	depth, before := c.depth, c.alg.Widened
	c.depth = 0
	c.nesting++
	def.typ = c.schema(def.target, def.place)
	c.nesting--
	c.depth = depth
	def.exact = c.alg.Widened == before
	def.state = defDone
}

// resolve returns what a reference stands for, unless that is just being made.
func (c *converter) resolve(r ir.Ref) (ir.Type, bool) {
	def := c.byName[r.Name]
	if def == nil {
		return nil, false
	}
	if def.state == defUnseen && c.nesting < maxNesting {
		c.convertDef(def)
	}
	return def.typ, def.state == defDone
}

// refsExact reports whether no definition that t leads to holds more than its schema.
func (c *converter) refsExact(t ir.Type, seen map[string]bool) bool {
	exact := true
	ir.Walk(t, func(t ir.Type) bool {
		ref, ok := t.(ir.Ref)
		if !ok || seen[ref.Name] {
			return exact
		}
		seen[ref.Name] = true
		typ, ok := c.resolve(ref)
		exact = exact && ok && c.byName[ref.Name].exact && c.refsExact(typ, seen)
		return exact
	})
	return exact
}
