package document

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/node"
	"github.com/mcpgen/mcpgen/gen/ident"
)

//go:embed workflow.schema.json
var schemaText string

// Schema returns the JSON Schema (2020-12) of a document, for editors and other checks. It decides which keys a document may have.
func Schema() string { return schemaText }

// form is a JSON Schema with the keywords that workflow.schema.json uses.
type form struct {
	Ref                                string `json:"$ref"`
	Type, Const                        any
	Pattern                            string
	MinLength, MinItems, MinProperties int
	MaxProperties                      *int
	Minimum, Maximum                   *float64
	Items                              *form
	Properties                         map[string]*form
	AdditionalProperties               json.RawMessage
	Required                           []string
	OneOf                              []*form
	Definitions                        map[string]*form `json:"$defs"`
}

var schema = sync.OnceValue(func() *form {
	var root form
	if err := json.Unmarshal([]byte(schemaText), &root); err != nil {
		panic(err) // embedded: any test would find the error
	}
	return &root
})

// otherwise says what takes the place of words of Serverless Workflow that mcprun does not have, by the definition they would be in.
var otherwise = map[string]map[string]string{
	"": {
		"use":      "write retries and errors where they are used; in YAML, an anchor (&name) and aliases (*name) share them",
		"schedule": "name the workflow below schedules: in mcpgen.yaml",
		"timeout":  "start the run with --timeout, or give single calls a timeout",
	},
	"task": {
		"emit": "send the message by a tool: call: SERVER.TOOL",
		"run":  "use call: script for code, and call: SERVER.TOOL for anything outside",
	},
	"any task": {
		"input":   "name what you need in expressions: input, output, tasks.NAME",
		"timeout": "only calls and listen have a timeout; the whole run has --timeout",
	},
	"input":  {"document": "write schema: {document: …}"},
	"output": {"schema": "the schema of a tool's result is in the tree"},
	"retry":  {"jitter": "leave it out"},
	"strategy": {
		"all":   "listen to one after the other, or in the branches of a fork",
		"until": "listen in a loop: for with while",
	},
	"listen.listen": {"read": "the result is the data"},
}

// former checks the form of a document.
type former struct {
	document *Document
	problems *Problems
	nodes    int
}

func (f *former) wrong(n *yaml.Node, message, hint string) {
	f.problems.add(f.document, n, message, hint)
}

// bounded checks the size of a document with its aliases followed, and refuses keys that are not texts, merges and tags.
func (f *former) bounded(n *yaml.Node, depth int) bool {
	if n = follow(n); depth > maxDepth {
		f.wrong(n, fmt.Sprintf("lists and mappings are nested more than %d deep", maxDepth), "move tasks to a script")
		return false
	}
	if f.nodes++; f.nodes > maxNodes {
		f.wrong(n, fmt.Sprintf("the document has more than %d values", maxNodes), "move data to files")
		return false
	}
	if n.Kind == yaml.ScalarNode && !slices.Contains([]string{"!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp"}, n.Tag) {
		f.wrong(n, fmt.Sprintf("the tag %q is not known", n.Tag), "remove it")
		return false
	}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && (child.Kind != yaml.ScalarNode || child.Tag == "!!merge" || child.Tag == "!!null") {
			f.wrong(child, "the key is not a text", "write the keys themselves")
			return false
		}
		if !f.bounded(child, depth+1) {
			return false
		}
	}
	return true
}

// check checks a value against a form. home is the name of the form.
func (f *former) check(n *yaml.Node, s *form, home string) {
	n = follow(n)
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		s, home = schema().Definitions[name], name
	}
	if s.OneOf != nil {
		f.task(n)
		return
	}
	if !f.scalar(n, s) {
		return
	}
	switch n.Kind {
	case yaml.SequenceNode:
		if len(n.Content) < s.MinItems {
			f.wrong(n, "the list is empty", "write an entry, or remove the key")
		}
		for _, item := range n.Content {
			if s.Items != nil {
				f.check(item, s.Items, home)
			}
		}
	case yaml.MappingNode:
		f.members(n, s, home)
	}
}

// task checks a task by the key that says what it does.
func (f *former) task(n *yaml.Node) {
	kind := kindOfTask(n)
	if kind != "" {
		f.check(n, schema().Definitions[kind], "any task."+kind)
		return
	}
	if n.Kind != yaml.MappingNode {
		f.wrong(n, fmt.Sprintf("a task is a mapping, not %s", withArticle(kindOf(n))), "write call: or another of "+strings.Join(kinds, ", "))
		return
	}
	for key := range node.Pairs(n) {
		if way := otherwise["task"][key.Value]; way != "" {
			f.wrong(key, fmt.Sprintf("Serverless Workflow's %s is not supported", key.Value), way)
			return
		}
	}
	for key := range node.Pairs(n) {
		if near := ident.Nearest(key.Value, kinds, 1); len(near) > 0 {
			f.wrong(key, fmt.Sprintf("the key %q is not known", key.Value), fmt.Sprintf("did you mean %s?", near[0]))
			return
		}
	}
	f.wrong(n, "nothing says what the task does", "write one of "+strings.Join(kinds, ", "))
}

// members checks the members of a mapping.
func (f *former) members(n *yaml.Node, s *form, home string) {
	if size := len(n.Content) / 2; size < s.MinProperties || s.MaxProperties != nil && size > *s.MaxProperties {
		f.wrong(n, fmt.Sprintf("the mapping has %d keys", size), "it has exactly one; in a list, begin each entry with a hyphen")
		return
	}
	var rest *form
	open := s.AdditionalProperties == nil || json.Unmarshal(s.AdditionalProperties, &rest) == nil // false cannot be read as a form
	for key, v := range node.Pairs(n) {
		property := s.Properties[key.Value]
		switch {
		case property != nil:
			f.check(v, property, strings.TrimPrefix(home+"."+key.Value, "any task."))
		case !open:
			f.unknown(key, s, home)
		case rest != nil:
			f.check(v, rest, home)
		}
	}
	for _, name := range s.Required {
		if node.Value(n, name) == nil {
			f.wrong(n, fmt.Sprintf("the key %s is missing", name), "write "+name+": …")
		}
	}
}

// unknown reports a key that a mapping cannot have.
func (f *former) unknown(key *yaml.Node, s *form, home string) {
	known := slices.Sorted(maps.Keys(s.Properties))
	groups := []string{home}
	if strings.HasPrefix(home, "any task.") {
		groups = []string{"any task", "task"}
	}
	for _, group := range groups {
		if way := otherwise[group][key.Value]; way != "" {
			f.wrong(key, fmt.Sprintf("Serverless Workflow's %s is not supported here", key.Value), way)
			return
		}
	}
	hint := "known here: " + strings.Join(known, ", ")
	if near := ident.Nearest(key.Value, known, 1); len(near) > 0 {
		hint = fmt.Sprintf("did you mean %s?", near[0])
	}
	f.wrong(key, fmt.Sprintf("the key %q is not known", key.Value), hint)
}

// scalar checks the type of a value, and what is in it if it is neither a list nor a mapping.
func (f *former) scalar(n *yaml.Node, s *form) bool {
	kind := kindOf(n)
	types := []string{}
	switch t := s.Type.(type) {
	case string:
		types = append(types, t)
	case []any:
		for _, name := range t {
			types = append(types, name.(string))
		}
	}
	if len(types) > 0 && !slices.Contains(types, kind) && !(kind == "integer" && slices.Contains(types, "number")) {
		f.wrong(n, fmt.Sprintf("it is %s, not %s", withArticle(kind), withArticle(types[0])), "write "+withArticle(types[0]))
		return false
	}
	if want, ok := s.Const.(string); ok && n.Value != want {
		f.wrong(n, fmt.Sprintf("%q is not supported", n.Value), fmt.Sprintf("write %s, or remove the key", want))
	}
	switch kind {
	case "string":
		if utf8.RuneCountInString(n.Value) < s.MinLength {
			f.wrong(n, "it is empty", "write a text")
		} else if s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(n.Value) {
			f.wrong(n, fmt.Sprintf("%q has the wrong form", n.Value), "it must match "+s.Pattern)
		}
	case "integer", "number":
		if v, err := strconv.ParseFloat(n.Value, 64); err != nil || !jsontext.Value(n.Value).IsValid() || s.Minimum != nil && v < *s.Minimum || s.Maximum != nil && v > *s.Maximum {
			f.wrong(n, "the number is out of range", "write a decimal number in range")
		}
	}
	return true
}

// kindOf returns the type of a value as JSON Schema names it.
func kindOf(n *yaml.Node) string {
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

// withArticle returns the name of a type for people.
func withArticle(kind string) string {
	if words, ok := map[string]string{"array": "a list", "object": "a mapping", "integer": "a whole number", "string": "a text", "null": "null"}[kind]; ok {
		return words
	}
	return "a " + kind
}
