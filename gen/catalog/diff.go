package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Kind says what a [Change] is about.
type Kind string

// The kinds of changes.
const (
	ServerAdded   Kind = "server-added"
	ServerRemoved Kind = "server-removed"
	ServerText    Kind = "server-text" // the server's title or instructions
	ToolAdded     Kind = "tool-added"
	ToolRemoved   Kind = "tool-removed"
	Title         Kind = "title"
	Description   Kind = "description"
	Input         Kind = "input"
	Output        Kind = "output"
	HintsChanged  Kind = "hints"
	Definition    Kind = "definition" // anything else in a tool's definition
)

// Change is one difference between two catalogs.
type Change struct {
	Server string `json:"server"`
	// Tool is the server's own name for it; empty when the change is about the server.
	Tool string `json:"tool,omitempty"`
	ID   string `json:"id,omitempty"`
	Kind Kind   `json:"kind"`
	// Details are the change itself, one line each, with foreign text in them.
	Details []string `json:"details"`
}

// Diff says how new differs from old, sorted by server, tool and kind. Either may be nil, which is empty. The order
// of keys in a definition makes no difference.
func Diff(old, new *Catalog) []Change {
	var changes []Change
	oldServers, newServers := serversByKey(old), serversByKey(new)
	for _, key := range unionKeys(oldServers, newServers) {
		a, b := oldServers[key], newServers[key]
		switch {
		case a == nil:
			changes = append(changes, Change{Server: key, Kind: ServerAdded, Details: toolNames(b)})
		case b == nil:
			changes = append(changes, Change{Server: key, Kind: ServerRemoved, Details: toolNames(a)})
		default:
			changes = append(changes, diffServer(a, b)...)
		}
	}
	return changes
}

func diffServer(a, b *Server) []Change {
	var changes []Change
	var details []string
	if a.Title != b.Title {
		details = append(details, "title: "+textChange(a.Title, b.Title))
	}
	if a.Instructions != b.Instructions {
		details = append(details, "instructions: "+textChange(a.Instructions, b.Instructions))
	}
	if details != nil {
		changes = append(changes, Change{Server: b.Key, Kind: ServerText, Details: details})
	}
	oldTools, newTools := toolsByName(a), toolsByName(b)
	for _, name := range unionKeys(oldTools, newTools) {
		x, y := oldTools[name], newTools[name]
		switch {
		case x == nil:
			changes = append(changes, Change{Server: b.Key, Tool: name, ID: y.ID, Kind: ToolAdded, Details: summary(y)})
		case y == nil:
			changes = append(changes, Change{Server: b.Key, Tool: name, ID: x.ID, Kind: ToolRemoved, Details: summary(x)})
		case x.Digest != y.Digest:
			changes = append(changes, diffTool(b.Key, x, y)...)
		}
	}
	return changes
}

func diffTool(server string, a, b *Tool) []Change {
	var changes []Change
	add := func(kind Kind, details ...string) {
		if len(details) > 0 {
			changes = append(changes, Change{Server: server, Tool: b.Name, ID: b.ID, Kind: kind, Details: details})
		}
	}
	if a.Title != b.Title {
		add(Title, textChange(a.Title, b.Title))
	}
	if a.Description != b.Description {
		add(Description, textChange(a.Description, b.Description))
	}
	add(Input, diffSchema(a.Input, b.Input)...)
	add(Output, diffOutput(a.Output, b.Output)...)
	add(HintsChanged, diffHints(a.Hints, b.Hints)...)
	add(Definition, diffRest(a.Raw, b.Raw)...)
	if len(changes) == 0 { // the digests differ, so something must be said
		add(Definition, "changed in a way that has no effect on the wrapper")
	}
	return changes
}

func diffOutput(a, b json.RawMessage) []string {
	switch {
	case a == nil && b == nil:
		return nil
	case a == nil:
		return []string{"output schema added: " + brief(b)}
	case b == nil:
		return []string{"output schema removed: " + brief(a)}
	}
	return diffSchema(a, b)
}

func diffHints(a, b Hints) []string {
	var details []string
	for _, h := range []struct {
		name string
		a, b *bool
	}{
		{"readOnlyHint", a.ReadOnly, b.ReadOnly},
		{"destructiveHint", a.Destructive, b.Destructive},
		{"idempotentHint", a.Idempotent, b.Idempotent},
		{"openWorldHint", a.OpenWorld, b.OpenWorld},
	} {
		if x, y := hintText(h.a), hintText(h.b); x != y {
			details = append(details, fmt.Sprintf("%s: %s → %s", h.name, x, y))
		}
	}
	return details
}

func hintText(b *bool) string {
	if b == nil {
		return "not said"
	}
	return fmt.Sprint(*b)
}

// diffRest compares what no other comparison looks at.
func diffRest(a, b json.RawMessage) []string {
	x, errX := decode(a)
	y, errY := decode(b)
	if errX != nil || errY != nil {
		return nil // NewServer has read both before
	}
	return (&schemaDiff{}).run(withoutKnown(x), withoutKnown(y))
}

func withoutKnown(v any) any {
	fields, ok := v.(map[string]any)
	if !ok {
		return v
	}
	fields = maps.Clone(fields)
	for _, known := range []string{"name", "title", "description", "inputSchema", "outputSchema"} {
		delete(fields, known)
	}
	if hints, ok := fields["annotations"].(map[string]any); ok {
		hints = maps.Clone(hints)
		for _, known := range []string{"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
			delete(hints, known)
		}
		fields["annotations"] = hints
		if len(hints) == 0 {
			delete(fields, "annotations")
		}
	}
	return fields
}

// summary is one line of a tool's description, if it has one.
func summary(t *Tool) []string {
	line, _, _ := bytes.Cut(bytes.TrimSpace([]byte(t.Description)), []byte("\n"))
	if len(line) == 0 {
		return []string{}
	}
	return []string{cut(string(line), maxText)}
}

func toolNames(s *Server) []string {
	names := make([]string, len(s.Tools))
	for i, t := range s.Tools {
		names[i] = t.Name
	}
	return names
}

func serversByKey(c *Catalog) map[string]*Server {
	m := map[string]*Server{}
	if c != nil {
		for i := range c.Servers {
			m[c.Servers[i].Key] = &c.Servers[i]
		}
	}
	return m
}

func toolsByName(s *Server) map[string]*Tool {
	m := make(map[string]*Tool, len(s.Tools))
	for i := range s.Tools {
		m[s.Tools[i].Name] = &s.Tools[i]
	}
	return m
}

func unionKeys[V any](a, b map[string]V) []string {
	all := make(map[string]V, len(a)+len(b))
	maps.Copy(all, a)
	maps.Copy(all, b)
	return sortedKeys(all)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
