package schema

import (
	"errors"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// maxScopes bounds the number of different dynamic scopes.
const maxScopes = 32

// scope holds the targets of $dynamicRef and $recursiveRef: the outermost resource on the way that has the anchor.
type scope struct {
	key     string
	anchors map[string]*jsonschema.Value // "" is $recursiveAnchor
	homes   map[string]*jsonschema.Resource
}

// enter adds a resource to a scope. Scopes with the same targets are the same pointer. Anchors that a document has only
// once make no difference.
func (c *converter) enter(s *scope, res *jsonschema.Resource) *scope {
	var added []string
	for name := range res.DynamicAnchors {
		if c.source.Dynamic[name] > 1 && (s == nil || s.anchors[name] == nil) {
			added = append(added, name)
		}
	}
	if res.Recursive && c.source.Dynamic[""] > 0 && (s == nil || s.anchors[""] == nil) {
		added = append(added, "")
	}
	if len(added) == 0 {
		return s
	}
	slices.Sort(added)
	next := &scope{anchors: map[string]*jsonschema.Value{}, homes: map[string]*jsonschema.Resource{}}
	if s != nil {
		next.key = s.key
		for name, v := range s.anchors {
			next.anchors[name], next.homes[name] = v, s.homes[name]
		}
	}
	var key strings.Builder
	key.WriteString(next.key)
	for _, name := range added {
		next.anchors[name], next.homes[name] = res.Root, res
		if name != "" {
			next.anchors[name] = res.DynamicAnchors[name]
		}
		key.WriteString("\x00" + name + "\x00" + res.URI.String())
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
	c.scopes["overflow"] = &scope{key: "overflow", anchors: map[string]*jsonschema.Value{}, homes: map[string]*jsonschema.Resource{}}
	return c.scopes["overflow"]
}

// target returns the target of a reference in the document. Nothing outside of it is ever read.
func (c *converter) target(ref *jsonschema.Value, p place) (*jsonschema.Value, place, bool) {
	if ref.Kind != jsonschema.KindString {
		c.note(CodeBadKeyword, p.pointer, "the reference is not a string; any value is accepted")
		return nil, p, false
	}
	to, err := c.source.Resolve(ref.Text, p.res)
	if err != nil {
		kind := CodeUnresolvedRef
		if errors.Is(err, jsonschema.ErrExternal) {
			kind = CodeExternalRef
		}
		c.note(kind, p.pointer, err.Error()+"; any value is accepted")
		return nil, p, false
	}
	if _, known := c.source.Homes[to.Target]; !known {
		c.source.Homes[to.Target] = to.At
	}
	if p.scope != nil {
		name, dynamic := to.Name, false
		switch p.pointer[strings.LastIndexByte(p.pointer, '/')+1:] {
		case "$dynamicRef":
			dynamic = name != "" && to.Target.Str("$dynamicAnchor") == name
		case "$recursiveRef":
			name, dynamic = "", to.Target == to.Res.Root && to.Res.Recursive
		}
		if dynamic && p.scope.key == "overflow" {
			c.note(CodeTooManySteps, p.pointer, "the reference has too many possible targets; any value is accepted")
			return nil, p, false
		}
		if outer := p.scope.anchors[name]; dynamic && outer != nil {
			to = jsonschema.Found{Target: outer, Res: p.scope.homes[name]}
		}
	}
	at := place{res: to.Res, scope: c.enter(p.scope, to.Res)}.at(c.source.PathOf(to.Target)...)
	return to.Target, at, true
}

// reference converts the value of a $ref, $dynamicRef or $recursiveRef at p.
func (c *converter) reference(ref *jsonschema.Value, p place) ir.Type {
	target, at, ok := c.target(ref, p)
	if !ok {
		c.wide()
		return ir.Unknown{}
	}
	if target.Kind == jsonschema.KindBool || (target.Kind == jsonschema.KindObject && len(target.Members) == 0) {
		return c.schema(target, at)
	}
	return ir.Ref{Name: c.define(target, at, p).name}
}

// definition is a schema with references to it. It becomes a named type, unless it is short or used only once.
type definition struct {
	name   string
	target *jsonschema.Value
	place  place
	state  defState
	typ    ir.Type
	exact  bool // typ accepts nothing but what the schema accepts
}

type defState int

const (
	defUnseen defState = iota
	defOpen
	defDone
)

// defKey identifies a definition: a schema can have different meanings in different dynamic scopes.
type defKey struct {
	target *jsonschema.Value
	scope  *scope
}

// define returns the definition of target at the place at, to which the reference at the place from leads.
func (c *converter) define(target *jsonschema.Value, at, from place) *definition {
	key := defKey{target, at.scope}
	if target == c.source.Root && at.scope == c.enter(nil, at.res) {
		return c.root
	}
	if def := c.defs[key]; def != nil {
		return def
	}
	def := &definition{name: c.defName(target, from), target: target, place: at}
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

// resolve returns the type that a reference stands for, unless that is being made.
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

// refsExact reports whether no definition that t refers to accepts more than its schema.
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
