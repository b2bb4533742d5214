package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/ident"
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
	names := d.missing(args, []any{d.root}, "", 0)
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
	root any
	top  *shape // the shape of the arguments; see arguments
}

func newDeclaration(schema json.RawMessage) *declaration {
	root, err := catalog.Decode(schema)
	if err != nil {
		root = nil // it declares nothing
	}
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
	properties map[string][]any // their schemas
	patterns   map[string]any
	rest       []any // schemas of properties with any other name
	items      []any
	named      bool // the schemas name properties
	open       bool // they mention other names, even if only to allow them
}

// shape combines schemas, including their subschemas.
func (d *declaration) shape(schemas ...any) *shape {
	s := &shape{properties: map[string][]any{}, patterns: map[string]any{}}
	for _, each := range schemas {
		d.collect(s, each, 0)
	}
	return s
}

func (d *declaration) collect(s *shape, schema any, depth int) {
	m, ok := schema.(map[string]any)
	if !ok || depth > maxSchemaDepth {
		return
	}
	if ref, ok := m["$ref"].(string); ok {
		target, found := d.resolve(ref)
		s.named = s.named || !found // unknown, so it declares nothing
		d.collect(s, target, depth+1)
	}
	if properties, ok := m["properties"].(map[string]any); ok {
		s.named = true
		for name, property := range properties {
			s.properties[name] = append(s.properties[name], property)
		}
	}
	patterns, _ := m["patternProperties"].(map[string]any)
	maps.Copy(s.patterns, patterns)
	for _, keyword := range []string{"additionalProperties", "unevaluatedProperties"} {
		switch rest := m[keyword].(type) {
		case bool:
			s.open, s.named = s.open || rest, s.named || !rest
		case map[string]any:
			s.open = true
			if len(rest) > 0 {
				s.rest = append(s.rest, rest)
			}
		}
	}
	for _, keyword := range []string{"items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"} {
		s.items = append(s.items, list(m[keyword])...)
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf", "if", "then", "else"} {
		for _, sub := range list(m[keyword]) {
			d.collect(s, sub, depth+1)
		}
	}
	dependent, _ := m["dependentSchemas"].(map[string]any)
	for _, sub := range dependent {
		d.collect(s, sub, depth+1)
	}
}

// list returns the elements of a list, or the value itself as the only element.
func list(value any) []any {
	switch v := value.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{value}
}

// resolve follows a reference within the schema.
func (d *declaration) resolve(ref string) (schema any, found bool) {
	if ref == "#" {
		return d.root, true
	}
	rest, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil, false
	}
	at := d.root
	for key := range strings.SplitSeq(rest, "/") {
		switch v := at.(type) {
		case map[string]any:
			at, ok = v[strings.NewReplacer("~1", "/", "~0", "~").Replace(key)]
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return at, true
}

// missing returns the names in a value that the schemas do not declare, sorted, each as a path from the top.
func (d *declaration) missing(value any, schemas []any, above string, depth int) []string {
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
func (s *shape) of(name string) []any {
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
