package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// declaredRule is the rule named in decisions made by a server's setting "arguments: declared".
const declaredRule = "arguments: declared"

// undeclared returns the reason to refuse a call with arguments that the tool's schema does not declare, or "" if it declares all of them.
// An object whose schema names no properties may hold anything; the top-level arguments must be named.
func (r *Request) undeclared() string {
	args, err := decode(r.Args)
	if err != nil {
		return err.Error()
	}
	d := newDeclaration(r.Input)
	names := d.missing(args, []*jsonschema.Value{d.root}, "", 0)
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("the tool does not declare the argument %.100q; it declares %s", names[0], ident.Clip(orNone(ident.List(d.names())), 150))
}

func orNone(list string) string {
	if list == "" {
		return "none"
	}
	return list
}

// declaration collects the names that a schema declares.
type declaration struct {
	root *jsonschema.Value // nil: it declares nothing
	top  *shape            // the shape of the arguments; see arguments
}

func newDeclaration(schema json.RawMessage) *declaration {
	root, _ := jsonschema.Parse(schema, jsonschema.Unlimited)
	return &declaration{root: root}
}

// arguments returns the shape of the arguments.
func (d *declaration) arguments() *shape {
	if d.top == nil {
		d.top = d.shape(d.root)
	}
	return d.top
}

// names returns the names of the arguments, sorted.
func (d *declaration) names() []string { return slices.Sorted(maps.Keys(d.arguments().properties)) }

// lacks reports whether the schema names arguments, but not this one, and probably rejects others.
func (d *declaration) lacks(name string) bool {
	s := d.arguments()
	return s.named && !s.open && s.of(name) == nil
}

// shape combines what several schemas say about the properties of an object and the elements of a list.
type shape struct {
	properties map[string][]*jsonschema.Value // their schemas
	patterns   map[string]*jsonschema.Value
	rest       []*jsonschema.Value // schemas of properties with any other name
	items      []*jsonschema.Value
	named      bool // the schemas name properties
	open       bool // they mention other names, even if only to allow them
}

// shape combines schemas, including their subschemas.
func (d *declaration) shape(schemas ...*jsonschema.Value) *shape {
	s := &shape{properties: map[string][]*jsonschema.Value{}, patterns: map[string]*jsonschema.Value{}}
	for _, each := range schemas {
		d.collect(s, each, 0)
	}
	return s
}

func (d *declaration) collect(s *shape, schema *jsonschema.Value, depth int) {
	if schema == nil || schema.Kind != jsonschema.KindObject || depth > maxSchemaDepth {
		return
	}
	for _, m := range schema.Members {
		switch m.Key {
		case "$ref":
			target := d.root.Local(m.Value.Text)
			s.named = s.named || target == nil // not known, so nothing is declared
			d.collect(s, target, depth+1)
		case "properties":
			s.named = s.named || m.Value.Kind == jsonschema.KindObject
			for _, p := range m.Value.Members {
				s.properties[p.Key] = append(s.properties[p.Key], p.Value)
			}
		case "patternProperties":
			for _, p := range m.Value.Members {
				s.patterns[p.Key] = p.Value
			}
		case "additionalProperties", "unevaluatedProperties":
			closed := m.Value.Kind == jsonschema.KindBool && !m.Value.Bool
			s.open, s.named = s.open || !closed, s.named || closed
			if len(m.Value.Members) > 0 {
				s.rest = append(s.rest, m.Value)
			}
		case "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains":
			s.items = append(s.items, list(m.Value)...)
		case "allOf", "anyOf", "oneOf", "if", "then", "else":
			for _, sub := range list(m.Value) {
				d.collect(s, sub, depth+1)
			}
		case "dependentSchemas":
			for _, sub := range m.Value.Members {
				d.collect(s, sub.Value, depth+1)
			}
		}
	}
}

// list returns the elements of a list, or a value alone.
func list(v *jsonschema.Value) []*jsonschema.Value {
	if v.Kind == jsonschema.KindArray {
		return v.Items
	}
	return []*jsonschema.Value{v}
}

// missing returns the names in a value that the schemas do not declare, sorted, each as a path from the top.
func (d *declaration) missing(value any, schemas []*jsonschema.Value, above string, depth int) []string {
	var out []string
	switch v := value.(type) {
	case []any:
		if items := d.shape(schemas...).items; len(items) > 0 {
			for _, item := range v {
				out = append(out, d.missing(item, items, above, depth+1)...)
			}
		}
	case map[string]any:
		s := d.shape(schemas...)
		if depth > 0 && !s.named && len(s.patterns) == 0 && len(s.rest) == 0 {
			return nil // the object may hold anything
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			subs := s.of(name)
			if subs == nil {
				out = append(out, above+name)
				continue
			}
			out = append(out, d.missing(v[name], subs, above+name+".", depth+1)...)
		}
	}
	return out
}

// of returns the schemas of a property, or nil if it is not declared.
func (s *shape) of(name string) []*jsonschema.Value {
	subs := slices.Clone(s.properties[name])
	for pattern, sub := range s.patterns {
		if re, err := regexp.Compile(pattern); err == nil && re.MatchString(name) {
			subs = append(subs, sub)
		}
	}
	if len(subs) == 0 {
		return s.rest
	}
	return subs
}
