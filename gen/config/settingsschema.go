package config

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

//go:embed mcpgen.schema.json
var schemaText string

// SettingsSchema returns the JSON Schema (2020-12) of mcpgen.yaml, for editors and other checks.
func SettingsSchema() string { return schemaText }

// schema is a JSON Schema with the keywords that mcpgen.schema.json uses. Problem and Remedy are our own: the text of errors.
type schema struct {
	Ref                  string `json:"$ref"`
	Type                 typeList
	Enum, Examples       []any
	Pattern, Format      string
	MinLength, MinItems  int
	UniqueItems          bool
	Minimum, Maximum     *int64
	Items                *schema
	Properties           map[string]schema
	AdditionalProperties optionalSchema
	Required             []string
	Problem              string `json:"x-problem"`
	Remedy               string `json:"x-remedy"`
}

// rootSchema is a schema together with the definitions that it refers to.
type rootSchema struct {
	schema
	Defs map[string]schema `json:"$defs"`
}

var settingsSchema = sync.OnceValue(func() *rootSchema {
	var root rootSchema
	if err := json.Unmarshal([]byte(schemaText), &root); err != nil {
		panic(err) // embedded: any test would find the error
	}
	return &root
})

// typeList is the keyword type: a name or a list of names.
type typeList []string

// UnmarshalJSON reads either form.
func (t *typeList) UnmarshalJSON(text []byte) error {
	if text[0] != '"' {
		return json.Unmarshal(text, (*[]string)(t))
	}
	*t = typeList{""}
	return json.Unmarshal(text, &(*t)[0])
}

// optionalSchema is the keyword additionalProperties: false, or a schema.
type optionalSchema struct{ *schema }

// UnmarshalJSON reads either form.
func (o *optionalSchema) UnmarshalJSON(text []byte) error {
	if string(text) == "false" {
		return nil
	}
	return json.Unmarshal(text, &o.schema)
}

// checkSettings returns an error for the first value below n that the schema refuses. key is the place of n.
func checkSettings(file *node.File, s schema, n *yaml.Node, key string) error {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		def := settingsSchema().Defs[name]
		def.Problem, def.Remedy = cmp.Or(s.Problem, def.Problem), cmp.Or(s.Remedy, def.Remedy)
		s = def
	}
	kind := kindOf(n)
	if problem, remedy := s.refuses(n, kind); problem != "" {
		return errorAt(file, n, key, cmp.Or(s.Problem, problem), cmp.Or(s.Remedy, remedy))
	}
	switch {
	case kind == "array" && s.Items != nil:
		for i, item := range n.Content {
			if err := checkSettings(file, *s.Items, item, fmt.Sprintf("%s[%d]", key, i)); err != nil {
				return err
			}
		}
	case kind == "object" && (s.Properties != nil || s.AdditionalProperties.schema != nil): // otherwise it may hold anything
		return checkMembers(file, &s, n, key)
	}
	return nil
}

// errorAt returns an error at a node. Only errors in a policy have a column, because people write code there.
func errorAt(file *node.File, n *yaml.Node, key, problem, remedy string) error {
	e := &FileError{File: file.Name, Line: n.Line, Key: key, Problem: problem, Remedy: remedy}
	if key == "policy" || strings.HasPrefix(key, "policy.") {
		e.Column = n.Column
	}
	return e
}

// checkMembers checks the members of a mapping.
func checkMembers(file *node.File, s *schema, n *yaml.Node, path string) error {
	for key, value := range node.Pairs(n) {
		property, ok := s.Properties[key.Value]
		if !ok && s.AdditionalProperties.schema == nil {
			return errorAt(file, key, path, fmt.Sprintf("the key %q is not known", key.Value), "known here: "+strings.Join(sortedKeys(s.Properties), ", "))
		}
		if !ok {
			property = *s.AdditionalProperties.schema
		}
		if err := checkSettings(file, property, value, node.Join(path, key.Value)); err != nil {
			return err
		}
	}
	for _, name := range s.Required {
		if node.Value(n, name) == nil {
			return errorAt(file, n, node.Join(path, name), "it is missing", cmp.Or(s.Properties[name].Remedy, "write it, or remove "+path))
		}
	}
	return nil
}

// refuses returns what is wrong with a value itself, apart from its contents, and what to do about it. The problem is empty if nothing is
// wrong.
func (s *schema) refuses(n *yaml.Node, kind string) (problem, remedy string) {
	if len(s.Type) > 0 && !slices.Contains(s.Type, kind) && (kind != "integer" || !slices.Contains(s.Type, "number")) {
		return fmt.Sprintf("it is %s, not %s", withArticle(kind), withArticle(s.Type[0])), "write " + withArticle(s.Type[0])
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
		if utf8.RuneCountInString(n.Value) < s.MinLength || s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(n.Value) {
			return "it is empty", "write a text, in quotes if need be"
		}
	case "integer":
		v, err := strconv.ParseInt(n.Value, 10, 64)
		if err != nil || s.Minimum != nil && v < *s.Minimum || s.Maximum != nil && v > *s.Maximum {
			return "the number is out of range", fmt.Sprintf("write a number from %d to %d", *s.Minimum, *s.Maximum)
		}
	case "array":
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
	}
	return "", ""
}

// kindOf returns the type of a value as JSON Schema names it.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "array"
	case yaml.MappingNode:
		return "object"
	}
	switch n.Tag {
	case "!!null":
		return "null"
	case "!!bool":
		return "boolean"
	case "!!int":
		return "integer"
	case "!!float":
		return "number"
	}
	return "string"
}

// withArticle returns the name of a type for people, as in YAML.
func withArticle(kind string) string {
	switch kind {
	case "array":
		return "a list"
	case "object":
		return "a mapping"
	case "integer":
		return "a whole number"
	case "string":
		return "a text"
	case "null":
		return "null"
	}
	return "a " + kind
}

// IsRunKey reports whether run: in mcpgen.yaml may have the key.
func IsRunKey(key string) bool {
	_, ok := settingsSchema().Properties["run"].Properties[key]
	return ok
}
