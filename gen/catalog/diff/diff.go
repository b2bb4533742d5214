// Package diff compares two catalogs: which tools came and went, and what changed in a definition, by what its schemas
// accept and not by how they are written. Start with [Catalogs].
//
// A schema is compared in two steps. A viewer brings it into one form: references followed, allOf merged, older keywords
// rewritten, and split by JSON type into alternatives. A comparer walks two such views and reports, for each place, what
// is accepted now and was not (widened), what no longer is (narrowed), and what cannot be told (changed, which counts as
// breaking). Everything that a server controls costs from a budget.
package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
)

// Catalogs returns how new differs from old, sorted by server and tool. Either may be nil, which is empty. Tools with one
// digest are the same: the order of keys in a definition makes no difference. Whatever the schemas, its time and its
// result are bounded.
func Catalogs(old, new *catalog.Catalog) []Change {
	d := &differ{}
	oldServers, newServers := serversByKey(old), serversByKey(new)
	d.limits = newBudget(changedTools(oldServers, newServers))
	for _, key := range unionKeys(oldServers, newServers) {
		a, b := oldServers[key], newServers[key]
		switch {
		case a == nil:
			d.add(Change{Server: key, Dir: b.Dir, Kind: ServerAdded, Impact: Compatible, Tools: toolNames(b)})
		case b == nil:
			d.add(Change{Server: key, Dir: a.Dir, Kind: ServerRemoved, Impact: Breaking, Tools: toolNames(a)})
		default:
			d.server(a, b)
		}
	}
	return d.changes
}

// Definitions returns how one tool of a server differs between two definitions. It is nil if one of them is malformed.
func Definitions(server string, old, new json.RawMessage) []Change {
	catalogs := make([]*catalog.Catalog, 2)
	for i, raw := range []json.RawMessage{old, new} {
		s, _ := catalog.NewServer(server, "", "", []json.RawMessage{raw})
		c, err := catalog.New([]catalog.Server{s})
		if err != nil {
			return nil
		}
		catalogs[i] = c
	}
	return Catalogs(catalogs[0], catalogs[1])
}

// differ collects changes.
type differ struct {
	changes []Change
	limits  *budget
}

// changedTools counts the tools whose schemas may have to be compared.
func changedTools(old, new map[string]*catalog.Server) int {
	digests := map[string]bool{}
	for _, s := range old {
		for _, t := range s.Tools {
			digests[t.Digest] = true
		}
	}
	n := 0
	for _, s := range new {
		for _, t := range s.Tools {
			if !digests[t.Digest] {
				n++
			}
		}
	}
	return n
}

func (d *differ) add(c Change) {
	c.Items = []Item{}
	d.changes = append(d.changes, c)
}

func (d *differ) server(a, b *catalog.Server) {
	var words result
	words.words("title", "", "", a.Title, b.Title)
	words.words("instructions", "", "", a.Instructions, b.Instructions)
	if len(words.items) > 0 {
		d.changes = append(d.changes, words.change(Change{Server: b.Key, Dir: b.Dir, Kind: ServerText}))
	}
	d.offers(a, b)
	oldTools, newTools := toolsByName(a), toolsByName(b)
	oldNames := renames(oldTools, newTools)
	renamed := map[string]bool{}
	for _, name := range oldNames {
		renamed[name] = true
	}
	for _, name := range unionKeys(oldTools, newTools) {
		x, y := oldTools[name], newTools[name]
		of := Change{Server: b.Key, Dir: b.Dir, Tool: name}
		switch {
		case y == nil && renamed[name]: // reported under its new name
		case x == nil && oldNames[name] != "":
			x = oldTools[oldNames[name]]
			of.ID = y.ID
			rename := of
			rename.Kind, rename.Impact, rename.OldTool, rename.OldID = ToolRenamed, Breaking, x.Name, x.ID
			d.add(rename)
			d.tool(of, x, y)
		case x == nil:
			of.ID, of.Kind, of.Impact, of.Summary = y.ID, ToolAdded, Compatible, summary(y)
			d.add(of)
		case y == nil:
			of.ID, of.Kind, of.Impact, of.Summary = x.ID, ToolRemoved, Breaking, summary(x)
			d.add(of)
		case x.Digest != y.Digest:
			of.ID = y.ID
			d.tool(of, x, y)
		}
	}
}

// change is of with what was found.
func (r result) change(of Change) Change {
	of.Items, of.More, of.Impact, of.Important = r.items, r.more, r.impact, r.important
	return of
}

// tool compares one tool with what it was. of is the change without its kind.
func (d *differ) tool(of Change, a, b *catalog.Tool) {
	before := len(d.changes)
	add := func(kind Kind, r result) {
		if len(r.items) > 0 {
			of.Kind = kind
			d.changes = append(d.changes, r.change(of))
		}
	}
	var title, description result
	title.words("title", "", "", a.Title, b.Title)
	description.words("description", "", "", a.Description, b.Description)
	add(Title, title)
	add(Description, description)
	add(HintsChanged, diffHints(a.Hints, b.Hints))
	add(Input, diffSchema(a.Input, b.Input, inputRole, d.limits))
	add(Output, diffOutput(a.Output, b.Output, d.limits))
	add(Definition, diffRest(a.Raw, b.Raw))
	if len(d.changes) == before && a.Name == b.Name { // the digests differ, so something must be reported
		var r result
		r.add(Item{Op: Respelled, Impact: NoImpact, Message: "changed in a way that has no effect on the wrapper"})
		add(Definition, r)
	}
}

// diffOutput: an output schema is a promise that a server makes, or takes back.
func diffOutput(a, b json.RawMessage, limits *budget) result {
	var r result
	switch {
	case a == nil && b == nil:
	case a == nil:
		r.add(Item{Keyword: "outputSchema", Op: Added, Impact: Compatible, New: compact(b), Message: "declared now: " + shortly(b)})
	case b == nil:
		r.add(Item{Keyword: "outputSchema", Op: Removed, Impact: Breaking, Old: compact(a), Message: "no longer declared (was " + shortly(a) + ")"})
	default:
		return diffSchema(a, b, outputRole, limits)
	}
	return r
}

// shortly describes an output schema by its first properties.
func shortly(schema json.RawMessage) string {
	v, err := catalog.Decode(schema)
	if err != nil {
		return "?"
	}
	d := newDocument(v, newBudget(1))
	node := d.flat(v)
	what := typesText(d.types(node, 0))
	if properties, _ := node["properties"].(map[string]any); len(properties) > 0 {
		var names []string
		for _, name := range sortedKeys(properties) {
			names = append(names, displayName(name))
		}
		what += " with " + list(names)
	}
	return what
}

func compact(schema json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, schema) != nil {
		return "…"
	}
	return cut(out.String(), maxText)
}

// hint is one of MCP's annotations, and its default.
type hint struct {
	name string
	a, b *bool
	// usual is the default; safe the value that promises more.
	usual, safe bool
	lost        string
}

// diffHints compares hints. A promise taken back is important: what was judged by it must be judged again.
func diffHints(a, b catalog.Hints) result {
	var r result
	for _, h := range []hint{
		{"readOnlyHint", a.ReadOnly, b.ReadOnly, false, true, "it no longer says that it only reads"},
		{"destructiveHint", a.Destructive, b.Destructive, true, false, "it may destroy things now"},
		{"idempotentHint", a.Idempotent, b.Idempotent, false, true, "calling it twice may do more than once"},
		{"openWorldHint", a.OpenWorld, b.OpenWorld, true, false, "it may reach beyond its own data now"},
	} {
		x, y := hintText(h.a), hintText(h.b)
		if x == y {
			continue
		}
		item := Item{Keyword: h.name, Op: Changed, Impact: NoImpact, Old: x, New: y, Message: fmt.Sprintf("%s → %s", x, y)}
		was, is := value(h.a, h.usual), value(h.b, h.usual)
		switch {
		case was == h.safe && is != h.safe:
			item.Important = h.name != "idempotentHint"
			item.Message += ": " + h.lost
		case h.name == "destructiveHint" && h.b != nil && is: // it was only not denied before
			item.Important = true
			item.Message += ": it says now that it may destroy things"
		}
		r.add(item)
	}
	return r
}

func value(b *bool, usual bool) bool {
	if b == nil {
		return usual
	}
	return *b
}

func hintText(b *bool) string {
	if b == nil {
		return "not said"
	}
	return fmt.Sprint(*b)
}

// diffRest compares what no other comparison looks at.
func diffRest(a, b json.RawMessage) result {
	x, y := restFields(a), restFields(b)
	for key, value := range x {
		if bytes.Equal(value, y[key]) {
			delete(x, key)
			delete(y, key)
		}
	}
	if len(x)+len(y) == 0 {
		return result{}
	}
	return rawItems(decodeFields(x), decodeFields(y))
}

// restFields are the parts of a definition that are not known, as they were sent.
func restFields(raw json.RawMessage) map[string]json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return nil // NewServer has read it before
	}
	for _, known := range []string{"name", "title", "description", "inputSchema", "outputSchema"} {
		delete(all, known)
	}
	return all
}

func decodeFields(raw map[string]json.RawMessage) any {
	out := map[string]any{}
	for key, value := range raw {
		v, err := catalog.Decode(value)
		if err != nil {
			continue
		}
		if hints, ok := v.(map[string]any); ok && key == "annotations" {
			hints = maps.Clone(hints)
			for _, known := range []string{"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
				delete(hints, known)
			}
			if len(hints) == 0 {
				continue
			}
			v = hints
		}
		out[key] = v
	}
	return out
}

// summary is the first line of a tool's description, if it has one.
func summary(t *catalog.Tool) string {
	line, _, _ := strings.Cut(strings.TrimSpace(t.Description), "\n")
	return cut(line, maxText)
}

func toolNames(s *catalog.Server) []string {
	names := make([]string, len(s.Tools)) // never nil: that is for changes of tools
	for i, t := range s.Tools {
		names[i] = t.Name
	}
	return names
}

func serversByKey(c *catalog.Catalog) map[string]*catalog.Server {
	if c == nil {
		return nil
	}
	return byName(c.Servers, func(s *catalog.Server) string { return s.Key })
}

func toolsByName(s *catalog.Server) map[string]*catalog.Tool {
	return byName(s.Tools, func(t *catalog.Tool) string { return t.Name })
}

func byName[T any](list []T, name func(*T) string) map[string]*T {
	m := make(map[string]*T, len(list))
	for i := range list {
		m[name(&list[i])] = &list[i]
	}
	return m
}
