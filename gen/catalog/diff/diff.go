// Package diff compares two catalogs. It reports which tools were added and removed, what changed in a definition, and whether calls may
// continue: a [Verdict]. Schemas are compared by the values they accept, not by how they are written. Start with [Catalogs].
//
// A schema is compared in two steps. A document brings it into one form: references followed, an allOf of one part merged, older keywords
// rewritten. A comparer walks two such forms and reports, for each place, whether more values are accepted (widened), fewer (narrowed), or
// whether it cannot tell (changed). A budget bounds the work on everything that a server controls.
//
// A change is harmless if every valid input stays valid and keeps its defaults, all outputs fit the old schema, hints take no assurance
// back, and new texts are not suspicious. For schemas, package drift must prove it.
package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// Catalogs returns how new differs from old, sorted by server and tool, with verdicts. Either may be nil, which is empty. Tools with one
// digest are the same: the order of keys in a definition makes no difference. Whatever the schemas, its time and its
// result are bounded. Without texts, no text counts as suspicious.
func Catalogs(old, new *catalog.Catalog, texts Texts) []Change {
	d := &differ{texts: texts}
	oldServers, newServers := serversByKey(old), serversByKey(new)
	d.limits = newBudget(changedTools(oldServers, newServers))
	for _, key := range unionKeys(oldServers, newServers) {
		a, b := oldServers[key], newServers[key]
		switch {
		case a == nil:
			c := Change{Server: key, Dir: b.Dir, Kind: ServerAdded, Impact: Compatible, Verdict: Harmless, Tools: toolNames(b)}
			for _, t := range b.Tools {
				d.suspicious(&c, nil, t.Raw)
			}
			d.add(c)
		case b == nil:
			d.add(Change{Server: key, Dir: a.Dir, Kind: ServerRemoved, Impact: Breaking, Verdict: BreakingVerdict, Tools: toolNames(a)})
		default:
			d.server(a, b)
		}
	}
	return d.changes
}

// Definitions is [Catalogs] for one tool of a server. It is nil if one of the definitions is malformed.
func Definitions(server string, old, new json.RawMessage, texts Texts) []Change {
	catalogs := make([]*catalog.Catalog, 2)
	for i, raw := range []json.RawMessage{old, new} {
		s, _ := catalog.NewServer(server, "", "", []json.RawMessage{raw})
		c, err := catalog.New([]catalog.Server{s})
		if err != nil {
			return nil
		}
		catalogs[i] = c
	}
	return Catalogs(catalogs[0], catalogs[1], texts)
}

// differ collects changes.
type differ struct {
	changes []Change
	texts   Texts
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
		c := words.change(Change{Server: b.Key, Dir: b.Dir, Kind: ServerText, Verdict: Harmless})
		d.suspicious(&c, texted(a.Title, a.Instructions), texted(b.Title, b.Instructions))
		d.changes = append(d.changes, c)
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
			rename.Kind, rename.Impact, rename.Verdict, rename.OldTool, rename.OldID = ToolRenamed, Breaking, BreakingVerdict, x.Name, x.ID
			d.add(rename)
			d.tool(of, x, y)
		case x == nil:
			of.ID, of.Kind, of.Impact, of.Verdict, of.Summary = y.ID, ToolAdded, Compatible, Harmless, summary(y)
			d.suspicious(&of, nil, y.Raw)
			d.add(of)
		case y == nil:
			of.ID, of.Kind, of.Impact, of.Verdict, of.Summary = x.ID, ToolRemoved, Breaking, BreakingVerdict, summary(x)
			d.add(of)
		case x.Digest != y.Digest:
			of.ID = y.ID
			d.tool(of, x, y)
		}
	}
}

// change returns of with the result.
func (r result) change(of Change) Change {
	of.Items, of.More, of.Impact, of.Important, of.Why = r.items, r.more, r.impact, r.important, r.why
	if r.verdict != "" {
		of.Verdict = r.verdict
	}
	return of
}

// tool compares one tool with what it was. of is the change without its kind.
func (d *differ) tool(of Change, a, b *catalog.Tool) {
	before := len(d.changes)
	add := func(kind Kind, r result) {
		if len(r.items) > 0 {
			of.Kind = kind
			c := r.change(of)
			c.judge()
			if len(d.changes) == before {
				d.suspicious(&c, a.Raw, b.Raw)
			}
			d.changes = append(d.changes, c)
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
	add(Definition, rawItems(rest(a.Raw), rest(b.Raw)))
	if len(d.changes) == before && a.Name == b.Name { // the digests differ, so something must be reported
		var r result
		r.add(Item{Op: Respelled, Impact: NoImpact, Message: "changed in a way that has no effect on the wrapper"})
		add(Definition, r)
	}
}

// diffOutput compares output schemas. An output schema is a promise, which a server can make or take back.
func diffOutput(a, b json.RawMessage, limits *budget) result {
	var r result
	switch {
	case a == nil && b == nil:
	case a == nil:
		r.add(Item{Keyword: "outputSchema", Op: Added, Impact: Compatible, New: compact(b), Message: "declared now: " + shortly(b)})
	case b == nil:
		r.add(Item{Keyword: "outputSchema", Op: Removed, Impact: Breaking, Old: compact(a), Message: "no longer declared (was " + shortly(a) + ")"})
		r.verdict = BreakingVerdict
	default:
		return diffSchema(a, b, outputRole, limits)
	}
	return r
}

// shortly describes an output schema by its first properties.
func shortly(schema json.RawMessage) string {
	v, err := jsonschema.Parse(schema, jsonschema.Unlimited)
	if err != nil {
		return "?"
	}
	d := newDocument(v, newBudget(1))
	flat := d.flat(v)
	what := typesText(d.types(flat, 0))
	if properties := flat.Get("properties").Sorted(); len(properties) > 0 {
		var names []string
		for _, m := range properties {
			names = append(names, displayName(m.Key))
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
	return ident.Shorten(out.String(), maxText)
}

// hint is one of MCP's annotations, and its default.
type hint struct {
	name string
	a, b *bool
	// usual is the default, and safe the value that promises more.
	usual, safe bool
	lost        string
}

// diffHints compares hints. A promise that is taken back is important, because decisions relied on it.
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

// rest returns the parts of a definition that no other comparison looks at.
func rest(raw json.RawMessage) node {
	all, err := jsonschema.Parse(raw, jsonschema.Unlimited)
	if err != nil { // NewServer has read it before
		return jsonschema.Record()
	}
	all.Delete("name", "title", "description", "inputSchema", "outputSchema")
	if hints := all.Get("annotations"); isObject(hints) {
		hints.Delete("title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
		if len(hints.Members) == 0 {
			all.Delete("annotations")
		}
	}
	return all
}

// summary is the first line of a tool's description, if it has one.
func summary(t *catalog.Tool) string {
	line, _, _ := strings.Cut(strings.TrimSpace(t.Description), "\n")
	return ident.Shorten(line, maxText)
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
