// Package shape says where a YAML file does not have the shape that a JSON Schema gives it, in words for people: mcpgen.yaml, files of policy
// cases, and workflow documents. Start with [Parse] and [Root.Check].
//
// It reads the keywords of [Schema] and ignores others, such as conditions: whoever reads the values checks those. x-problem and x-remedy, which
// are its own, are the texts of an error; x-instead says what takes the place of keys that a mapping cannot have.
package shape

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/node"
	"github.com/mcpgen/mcpgen/gen/ident"
)

// Schema is a JSON Schema (2020-12).
type Schema struct {
	Ref                                string `json:"$ref"`
	Type                               Types
	Enum, Examples                     []any
	Const                              any
	Pattern, Format                    string
	MinLength, MinItems, MinProperties int
	MaxProperties                      *int
	UniqueItems                        bool
	Minimum, Maximum                   *float64
	Items                              *Schema
	Properties                         map[string]*Schema
	AdditionalProperties               *Additional
	Required                           []string
	// OneOf counts if it consists of references: the value has the shape of the first one whose first required key it has.
	OneOf   []*Schema
	Problem string            `json:"x-problem"`
	Remedy  string            `json:"x-remedy"`
	Instead map[string]string `json:"x-instead"`
}

// Root is a schema with the definitions that it and its parts refer to.
type Root struct {
	Schema
	Defs map[string]*Schema `json:"$defs"`
}

// Types is the keyword type: a name or a list of names.
type Types []string

// UnmarshalJSON reads either form.
func (t *Types) UnmarshalJSON(text []byte) error {
	if text[0] != '"' {
		return json.Unmarshal(text, (*[]string)(t))
	}
	*t = Types{""}
	return json.Unmarshal(text, &(*t)[0])
}

// Additional is the keyword additionalProperties: false, which is a nil Schema, or a schema.
type Additional struct{ *Schema }

// UnmarshalJSON reads either form.
func (a *Additional) UnmarshalJSON(text []byte) error {
	if string(text) == "false" {
		return nil
	}
	return json.Unmarshal(text, &a.Schema)
}

// Parse reads a schema.
func Parse(text string) (*Root, error) {
	root := &Root{}
	return root, json.Unmarshal([]byte(text), root)
}

// Mistake is a place where a value does not have its shape.
type Mistake struct {
	Node *yaml.Node
	Path string // of keys and indexes, such as servers.crm.exclude[0]
	// Missing is the key that is missing in the mapping Node, or empty.
	Missing         string
	Problem, Remedy string
}

// Check returns the mistakes in a value, in their order. path is the place of the value. Nothing is checked below a wrong value.
func (r *Root) Check(s *Schema, n *yaml.Node, path string) []Mistake {
	c := &checker{root: r}
	c.check(s, n, path)
	return c.found
}

type checker struct {
	root  *Root
	found []Mistake
}

func (c *checker) wrong(m Mistake) { c.found = append(c.found, m) }

// resolve returns what a schema refers to, with the texts of the reference.
func (c *checker) resolve(s *Schema) *Schema {
	name, ok := strings.CutPrefix(s.Ref, "#/$defs/")
	if !ok {
		return s
	}
	def := *c.resolve(c.root.Defs[name])
	def.Problem, def.Remedy = cmp.Or(s.Problem, def.Problem), cmp.Or(s.Remedy, def.Remedy)
	return &def
}

func (c *checker) check(s *Schema, n *yaml.Node, path string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	s = c.resolve(s)
	kind := KindOf(n)
	if problem, remedy := s.refuses(n, kind); problem != "" {
		c.wrong(Mistake{Node: n, Path: path, Problem: cmp.Or(s.Problem, problem), Remedy: cmp.Or(s.Remedy, remedy)})
		return
	}
	if len(s.OneOf) > 0 && s.OneOf[0].Ref != "" {
		if s = c.choose(s, n, path); s == nil {
			return
		}
	}
	switch {
	case kind == "array" && s.Items != nil:
		for i, item := range n.Content {
			c.check(s.Items, item, fmt.Sprintf("%s[%d]", path, i))
		}
	case kind == "object" && (s.Properties != nil || s.AdditionalProperties != nil): // otherwise it may hold anything
		c.members(s, n, path)
	}
}

// choose returns the shape of a value that has one of several, or nil after it has reported that it has none.
func (c *checker) choose(s *Schema, n *yaml.Node, path string) *Schema {
	var keys []string
	for _, one := range s.OneOf {
		def := *c.resolve(one)
		if node.Value(n, def.Required[0]) != nil {
			def.Instead = maps.Clone(s.Instead)
			if def.Instead == nil {
				def.Instead = map[string]string{}
			}
			maps.Copy(def.Instead, c.resolve(one).Instead)
			return &def
		}
		keys = append(keys, def.Required[0])
	}
	for key := range node.Pairs(n) {
		if s.Instead[key.Value] != "" || len(ident.Nearest(key.Value, keys, 1)) > 0 {
			c.unknown(s, key, path, keys)
			return nil
		}
	}
	c.wrong(Mistake{Node: n, Path: path, Problem: cmp.Or(s.Problem, "it is nothing that is known"), Remedy: "write one of " + strings.Join(keys, ", ")})
	return nil
}

// members checks the members of a mapping.
func (c *checker) members(s *Schema, n *yaml.Node, path string) {
	for key, value := range node.Pairs(n) {
		property := s.Properties[key.Value]
		if property == nil && s.AdditionalProperties != nil {
			property = s.AdditionalProperties.Schema
		}
		switch {
		case property != nil:
			c.check(property, value, node.Join(path, key.Value))
		case s.AdditionalProperties != nil:
			c.unknown(s, key, path, slices.Sorted(maps.Keys(s.Properties)))
		}
	}
	for _, name := range s.Required {
		if node.Value(n, name) == nil {
			remedy := "write it"
			if p := s.Properties[name]; p != nil && p.Remedy != "" {
				remedy = p.Remedy
			} else if path != "" {
				remedy += ", or remove " + path
			}
			c.wrong(Mistake{Node: n, Path: node.Join(path, name), Missing: name, Problem: "it is missing", Remedy: remedy})
		}
	}
}

// unknown reports a key that a mapping cannot have.
func (c *checker) unknown(s *Schema, key *yaml.Node, path string, known []string) {
	m := Mistake{Node: key, Path: path, Problem: fmt.Sprintf("the key %q is not known", key.Value), Remedy: "known here: " + strings.Join(known, ", ")}
	if near := ident.Nearest(key.Value, known, 1); len(near) > 0 {
		m.Remedy = fmt.Sprintf("did you mean %s?", near[0])
	}
	if way := s.Instead[key.Value]; way != "" {
		m.Problem, m.Remedy = fmt.Sprintf("the key %s is not supported here", key.Value), way
	}
	c.wrong(m)
}

// refuses returns what is wrong with a value itself, apart from its contents, and what to do about it. The problem is empty if nothing is
// wrong.
func (s *Schema) refuses(n *yaml.Node, kind string) (problem, remedy string) {
	if len(s.Type) > 0 && !slices.Contains(s.Type, kind) && (kind != "integer" || !slices.Contains(s.Type, "number")) {
		return fmt.Sprintf("it is %s, not %s", WithArticle(kind), WithArticle(s.Type[0])), "write " + WithArticle(s.Type[0])
	}
	if s.Const != nil && (n.Kind != yaml.ScalarNode || n.Value != fmt.Sprint(s.Const)) {
		return fmt.Sprintf("%q is not supported", n.Value), fmt.Sprintf("write %v, or remove the key", s.Const)
	}
	if s.Enum != nil {
		var words []string
		for _, v := range s.Enum {
			words = append(words, fmt.Sprint(v))
		}
		if n.Kind != yaml.ScalarNode || !slices.Contains(words, n.Value) {
			return fmt.Sprintf("%q is not known", n.Value), "write one of " + strings.Join(words, ", ")
		}
	}
	switch kind {
	case "string":
		matches := s.Pattern == "" || regexp.MustCompile(s.Pattern).MatchString(n.Value)
		if utf8.RuneCountInString(n.Value) < s.MinLength || !matches && strings.TrimSpace(n.Value) == "" {
			return "it is empty", "write a text, in quotes if need be"
		}
		if !matches {
			return fmt.Sprintf("%q has the wrong form", n.Value), "it must match " + s.Pattern
		}
	case "integer", "number":
		if len(s.Type) > 0 { // otherwise it may be anything that YAML has
			return s.refusesNumber(n)
		}
	case "array":
		return s.refusesList(n)
	case "object":
		if size := len(n.Content) / 2; size < s.MinProperties || s.MaxProperties != nil && size > *s.MaxProperties {
			return fmt.Sprintf("the mapping has %d keys", size), "it has exactly one; in a list, begin each entry with a hyphen"
		}
	}
	return "", ""
}

func (s *Schema) refusesNumber(n *yaml.Node) (problem, remedy string) {
	v, err := strconv.ParseFloat(n.Value, 64)
	if err == nil && jsontext.Value(n.Value).IsValid() && (s.Minimum == nil || v >= *s.Minimum) && (s.Maximum == nil || v <= *s.Maximum) {
		return "", ""
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		remedy = fmt.Sprintf("write a number from %.0f to %.0f", *s.Minimum, *s.Maximum)
	case s.Minimum != nil:
		remedy = fmt.Sprintf("write a number of at least %.0f", *s.Minimum)
	default:
		remedy = "write a decimal number"
	}
	if err != nil || jsontext.Value(n.Value).IsValid() {
		return "the number is out of range", remedy
	}
	return fmt.Sprintf("%q is not a decimal number", n.Value), remedy
}

func (s *Schema) refusesList(n *yaml.Node) (problem, remedy string) {
	if len(n.Content) < s.MinItems {
		return "the list is empty", "write an entry, or remove the key"
	}
	seen := map[string]bool{}
	for _, item := range n.Content {
		if s.UniqueItems && seen[item.Value] {
			return "an entry is there twice", "remove one of the two"
		}
		seen[item.Value] = true
	}
	return "", ""
}

// KindOf returns the type of a value as JSON Schema names it.
func KindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "array"
	case yaml.MappingNode:
		return "object"
	}
	if kind, ok := map[string]string{"!!null": "null", "!!bool": "boolean", "!!int": "integer", "!!float": "number"}[n.Tag]; ok {
		return kind
	}
	return "string"
}

// WithArticle returns the name of a type for people, as in YAML.
func WithArticle(kind string) string {
	if words, ok := map[string]string{"array": "a list", "object": "a mapping", "integer": "a whole number", "string": "a text", "null": "null"}[kind]; ok {
		return words
	}
	return "a " + kind
}
