// Package catalog holds what upstream servers offer, as they sent it: servers, tools, ids and digests, and the lock that
// a tree is made from. It connects to nothing and renders nothing; package diff compares two catalogs.
//
// Start with [Catalog]; [NewServer] reads a server's raw tool list, [New] joins servers into a catalog, [LoadTree]
// reads a catalog back from a tree and refuses one that is not whole.
package catalog

import (
	"encoding/json"
	"strings"
)

// Catalog is a set of servers, sorted by key. Build one with [New].
type Catalog struct {
	Servers []Server

	byID map[string]toolRef // id → where it is; filled by New
}

type toolRef struct{ server, tool int }

// Server is one configured server and its tools, sorted by the tools' own names.
type Server struct {
	// Key is the name in the configuration. It is the identity; what a server calls itself is not used.
	Key string
	// Dir is the folder below the tree: Key in snake case, unique in the catalog. Also the first part of tool ids.
	Dir string
	// Title and Instructions are the server's own words, hostile. Empty when it gave none.
	Title, Instructions string
	Tools               []Tool
	// Resources reports whether the server offers resources, HasPrompts whether it offers prompts; Prompts may be empty all the
	// same. See [Server.SetPrompts].
	Resources, HasPrompts bool
	// Prompts are sorted by their own names.
	Prompts []Prompt
}

// Tool is one tool as the server listed it.
type Tool struct {
	// ID is Dir + "__" + the tool's name in snake case, unique in the catalog.
	ID string
	// Name is the server's own name for it, sent on the wire.
	Name string
	// Title and Description are the server's own words, hostile.
	Title, Description string
	Hints              Hints
	// Input and Output are the schemas' bytes as sent. Input is `{}` when the server sent none or null; Output is nil
	// when there is none.
	Input, Output json.RawMessage
	// Raw is the whole definition as sent.
	Raw json.RawMessage
	// Digest is [Digest] of Raw.
	Digest string
}

// Hints are MCP's tool annotations. Nil means that the server does not give the hint.
// Defaults then: readOnly false, destructive true, idempotent false, openWorld true (MCP 2025-06-18, schema.ts).
type Hints struct {
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
}

// Warning is something odd in what a server sent that did not stop the work.
type Warning struct {
	// Place is "server", "server/tool" or "server/tool#/json/pointer". Its parts are foreign text.
	Place   string
	Message string
	// Dropped reports whether a tool is missing from the catalog because of it.
	Dropped bool
}

// Lookup finds a tool by its id.
func (c *Catalog) Lookup(id string) (*Server, *Tool, bool) {
	ref, ok := c.byID[id]
	if !ok {
		return nil, nil, false
	}
	server := &c.Servers[ref.server]
	return server, &server.Tools[ref.tool], true
}

// Server finds a server by its key.
func (c *Catalog) Server(key string) (*Server, bool) {
	for i := range c.Servers {
		if c.Servers[i].Key == key {
			return &c.Servers[i], true
		}
	}
	return nil, false
}

// Tools is the number of tools of all servers.
func (c *Catalog) Tools() int {
	n := 0
	for _, s := range c.Servers {
		n += len(s.Tools)
	}
	return n
}

// Definition returns the tool as hosts present it to a model: id, description and input schema, as JSON. Hosts leave out
// the rest of a definition, above all the output schema.
func (t *Tool) Definition() string {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Input       json.RawMessage `json:"input_schema"`
	}{t.ID, t.Description, t.Input})
	if err != nil {
		return string(t.Raw)
	}
	return text.String()
}
