package render

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/schema"
)

func TestWithArguments(t *testing.T) {
	const input = `{"type":"object","properties":{
		"query":{"type":"string"},"limit":{"type":"integer","description":"How many"},"auth-mode":{"type":"string"},
		"filter":{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}}}}}`
	tests := []struct {
		name, description string
		left              string
		want              map[string]string
	}{
		{"Google", "Search.\n\nArgs:\n    query (str): What to find,\n        e.g. \"cats\"\n    limit (int, optional): How many. Default: 10.\n\nReturns:\n    A list.",
			"Search.\n\nReturns:\n    A list.", map[string]string{"query": "What to find,\ne.g. \"cats\"", "limit": "How many. Default: 10."}},
		{"Google, not indented", "Search.\nArgs:\nquery: What to find\nlimit: How many\nReturns:\nA list.",
			"Search.\nReturns:\nA list.", map[string]string{"query": "What to find", "limit": "How many"}},
		{"a type that says something", "S.\nArgs:\n  query (YYYY-MM-DD): The day", "S.", map[string]string{"query": "(YYYY-MM-DD) The day"}},
		{"NumPy", "Search.\n\nParameters\n----------\nquery : str\n    What to find.\nlimit : int, optional\n    At most 10.\n\nReturns\n-------\nlist\n    All.",
			"Search.\n\nReturns\n-------\nlist\n    All.", map[string]string{"query": "What to find.", "limit": "How many; At most 10."}},
		{"Sphinx", "Search.\n\n:param query: What to find\n:param int limit: How many\n:return: A list", "Search.\n\n:return: A list", map[string]string{"query": "What to find", "limit": "How many"}},
		{"JSDoc", "Search.\n@param {string} query - What to find\n@param limit How many", "Search.", map[string]string{"query": "What to find"}},
		{"bullets", "Search.\n\n**Parameters:**\n- `query` (string, required): What to find\n- **limit**: How many\n- --auth-mode: How to log in\n\nNote: slow",
			"Search.\n\nNote: slow", map[string]string{"query": "What to find", "auth-mode": "How to log in"}},
		{"bullets with dashes", "Search.\n\nRequired parameters:\n* query - What to find\n", "Search.", map[string]string{"query": "What to find"}},
		{"one that is no member", "Search.\n\nArgs:\n    query: What to find\n    ctx: The context\n", "Search.\n\nArgs:\n    ctx: The context", map[string]string{"query": "What to find"}},
		{"members of a member", "Search.\n\nArgs:\n    filter (FilterInput): What to leave out:\n        - name (str): Of the cat\n        - age (int): In years\n",
			"Search.", map[string]string{"filter": "What to leave out:", "filter.name": "Of the cat", "filter.age": "In years"}},
		{"prose", "Search.\n\nArguments are checked.\nInputs: query: none of them", "Search.\n\nArguments are checked.\nInputs: query: none of them", nil},
		{"one of two members", "Search.\n\nOptional parameters:\n- `query`: What to find\n- `limit` / `auth-mode`: More", "Search.\n\nOptional parameters:\n- `limit` / `auth-mode`: More", map[string]string{"query": "What to find"}},
		{"a header at the end", "Search.\n\nArgs:", "Search.\n\nArgs:", nil},
	}
	for _, tt := range tests {
		tool := Tool{Name: "t", Description: tt.description}
		tool.Input, _ = schema.Convert(json.RawMessage(input))
		before := texts(tool.Input.Root, "")
		got := withArguments(tool)
		if diff := cmp.Diff(tt.left, strings.TrimSpace(got.Description)); diff != "" {
			t.Errorf("%s: what stays (-want +got):\n%s", tt.name, diff)
		}
		want := map[string]string{"limit": "How many"}
		for name, text := range tt.want {
			want[name] = text
		}
		if diff := cmp.Diff(want, texts(got.Input.Root, "")); diff != "" {
			t.Errorf("%s: what moved (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(before, texts(tool.Input.Root, "")); diff != "" {
			t.Errorf("%s: the tool that was given changed:\n%s", tt.name, diff)
		}
	}
}

// texts returns the descriptions of an object's members by name.
func texts(t ir.Type, prefix string) map[string]string {
	out := map[string]string{}
	object, _ := t.(ir.Object)
	for _, f := range object.Fields {
		if f.Doc.Description != "" {
			out[prefix+f.Name] = f.Doc.Description
		}
		for name, text := range texts(f.Type, prefix+f.Name+".") {
			out[name] = text
		}
	}
	return out
}
