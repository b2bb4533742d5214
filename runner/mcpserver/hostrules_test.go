package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner/mcpserver"
)

// schemaNode is a schema within a tool's definition.
type schemaNode struct {
	at     string
	schema map[string]any
	root   bool
}

func (n schemaNode) has(keys ...string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { _, ok := n.schema[k]; return ok })
}

// hostRules find what hosts, or the providers of their models, refuse in a schema. A single such tool makes the whole request fail.
var hostRules = []struct {
	host, rule string
	breaks     func(n schemaNode) bool
}{
	{"OpenAI", "an object has properties", func(n schemaNode) bool { return n.schema["type"] == "object" && !n.has("properties") }},
	{"OpenAI", "an array has items", func(n schemaNode) bool { return n.schema["type"] == "array" && !n.has("items") }},
	{"OpenAI", "what is required is a property", func(n schemaNode) bool {
		properties, _ := n.schema["properties"].(map[string]any)
		required, _ := n.schema["required"].([]any)
		return slices.ContainsFunc(required, func(name any) bool { return properties[fmt.Sprint(name)] == nil })
	}},
	{"Gemini", "the root has properties", func(n schemaNode) bool {
		properties, _ := n.schema["properties"].(map[string]any)
		return n.root && len(properties) == 0
	}},
	{"Gemini", "an enum is of strings, and says so", func(n schemaNode) bool {
		values, ok := n.schema["enum"].([]any)
		return ok && (n.schema["type"] != "string" || slices.ContainsFunc(values, func(v any) bool { s, ok := v.(string); return !ok || s == "" }))
	}},
	{"Gemini", "a schema has one type", func(n schemaNode) bool { _, one := n.schema["type"].(string); return !one }},
	{"Gemini", "no constants, references or combinations", func(n schemaNode) bool {
		return n.has("const", "$ref", "$defs", "definitions", "anyOf", "oneOf", "allOf", "not", "if", "patternProperties", "additionalProperties", "$schema")
	}},
	{"Gemini", "the formats that it knows", func(n schemaNode) bool {
		format, ok := n.schema["format"].(string)
		return ok && !slices.Contains([]string{"enum", "date-time", "float", "double", "int32", "int64"}, format)
	}},
	{"Anthropic", "the root is an object", func(n schemaNode) bool { return n.root && n.schema["type"] != "object" }},
	{"Anthropic", "names of properties", func(n schemaNode) bool {
		properties, _ := n.schema["properties"].(map[string]any)
		return slices.ContainsFunc(sorted(properties), func(name string) bool { return !propertyKey.MatchString(name) })
	}},
}

var (
	propertyKey = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	toolName    = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)
)

// schemaNodes returns a schema and all schemas within it.
func schemaNodes(at string, schema any, root bool) []schemaNode {
	m, ok := schema.(map[string]any)
	if !ok {
		return []schemaNode{{at: at, schema: map[string]any{}, root: root}}
	}
	all := []schemaNode{{at, m, root}}
	properties, _ := m["properties"].(map[string]any)
	for _, name := range sorted(properties) {
		all = append(all, schemaNodes(at+"."+name, properties[name], false)...)
	}
	if items, ok := m["items"]; ok {
		all = append(all, schemaNodes(at+"[]", items, false)...)
	}
	return all
}

// broken returns the rules that a list of tools breaks.
func broken(t *testing.T, list json.RawMessage) (problems []string) {
	t.Helper()
	var all struct {
		Tools []struct {
			Name                      string
			InputSchema, OutputSchema any
		}
	}
	if err := json.Unmarshal(list, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Tools) == 0 {
		t.Fatal("no tools")
	}
	for _, tool := range all.Tools {
		if !toolName.MatchString(tool.Name) {
			problems = append(problems, tool.Name+": name")
		}
		nodes := schemaNodes(tool.Name, tool.InputSchema, true)
		if tool.OutputSchema != nil {
			nodes = append(nodes, schemaNodes(tool.Name+" (output)", tool.OutputSchema, true)...)
		}
		for _, n := range nodes {
			for _, r := range hostRules {
				if r.breaks(n) {
					problems = append(problems, n.at+": "+r.host+": "+r.rule)
				}
			}
		}
	}
	return problems
}

// TestHostRules checks that no host refuses a definition, whatever the options.
func TestHostRules(t *testing.T) {
	for _, mode := range []mcpserver.Mode{mcpserver.ModeCore, mcpserver.ModeAll, mcpserver.ModeCode} { // passthrough lists other servers' definitions
		for _, languages := range [][]string{nil, {mcpserver.TypeScript}, {mcpserver.Python}} {
			for _, bare := range []bool{false, true} { // without tree, skills, vault and log
				w := newFixture(t)
				w.opt.Mode, w.opt.Languages = mode, languages
				if bare {
					w.opt.Catalog, w.opt.Lock, w.opt.Finder = nil, nil, nil
					w.opt.Customer = func(_ context.Context, id string) (*mcpserver.Customer, error) {
						return &mcpserver.Customer{ID: id}, nil
					}
				}
				s := w.server()
				lists := []json.RawMessage{s.Definitions()}
				srv := w.web(s, &mcpserver.HTTPOptions{Tokens: tokensOf(t)})
				for _, cs := range []*mcp.ClientSession{w.stdio(s, revisions[0], nil), connect(t, srv.URL, tokenOfAda, revisions[1], nil)} {
					res, err := cs.ListTools(t.Context(), nil)
					if err != nil {
						t.Fatal(err)
					}
					wire, err := json.Marshal(res)
					if err != nil {
						t.Fatal(err)
					}
					lists = append(lists, wire)
				}
				for _, list := range lists {
					for _, problem := range broken(t, list) {
						t.Errorf("%s, %v, bare %v: %s", mode, languages, bare, problem)
					}
				}
			}
		}
	}
}

// TestHostRulesFind checks that the rules find what hosts have refused.
func TestHostRulesFind(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object"}`, `{"type":"object","properties":{"a":{"enum":["x"]}}}`, `{"type":"object","properties":{"a":{"type":"object"}}}`,
		`{"type":"object","properties":{"a":{"type":["string","null"]}}}`, `{"type":"object","properties":{"a":{"type":"array"}}}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{}}}}`, `{"type":"object","properties":{"a b":{"type":"string"}}}`,
		`{"type":"object","properties":{}}`, `{"type":"object","properties":{},"required":["a"]}`, `{"type":"object","properties":{},"anyOf":[]}`, `true`,
		`{"type":"object","properties":{"a":{"type":"string","format":"uri"}}}`, `{"type":"object","properties":{"a":{"const":1}}}`,
	} {
		if problems := broken(t, json.RawMessage(`{"tools":[{"name":"x","inputSchema":`+schema+`}]}`)); len(problems) == 0 {
			t.Errorf("broken() finds nothing in %s, want a rule", schema)
		}
	}
}
