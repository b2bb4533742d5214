// Package index describes the generated tree in a few tokens, for the text that every client reads when it connects.
package index

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/tokens"
)

// Example is a tool used in examples of calls.
type Example struct {
	Dir string
	// Functions are the names of its function by language.
	Functions map[string]string
}

// ExampleOf returns a tool of the tree for examples, or nil if there is no tool. It prefers tools that only read, then tools that need
// arguments, then tools whose names differ between languages, which shows how names are formed.
func ExampleOf(cat *catalog.Catalog, lock *catalog.Lock) *Example {
	if cat == nil || lock == nil {
		return nil
	}
	var best *Example
	bestRank := 0
	for _, s := range cat.Servers {
		for _, t := range s.Tools {
			e := &Example{Dir: ident.CleanLine(s.Dir), Functions: map[string]string{}}
			different := map[string]bool{}
			for language, n := range lock.Servers[s.Key].Tools[t.Name].Names {
				e.Functions[language] = ident.CleanLine(n.Function)
				different[n.Function] = true
			}
			if len(different) == 0 {
				continue
			}
			rank := min(len(different), 2)
			if needsArguments(&t) {
				rank += 2
			}
			if t.Hints.ReadOnly != nil && *t.Hints.ReadOnly {
				rank += 4
			}
			if rank > bestRank {
				best, bestRank = e, rank
			}
		}
	}
	return best
}

func needsArguments(t *catalog.Tool) bool {
	var schema struct {
		Required []json.RawMessage `json:"required"`
	}
	return json.Unmarshal(t.Input, &schema) == nil && len(schema.Required) > 0
}

// Text returns the part of execute_code's description that lists the tree within budget tokens. It names all servers, or as many as fit;
// then the functions of their tools, if they fit; then what a server's tools have in common. It depends on the tree only, so it is the same
// at every start. Servers are in the catalog's order. The tools of a server are all named or none of them is.
func Text(cat *catalog.Catalog, lock *catalog.Lock, language string, budget int) string {
	if cat == nil || lock == nil || budget < 0 {
		return ""
	}
	var rows []row
	leads := map[string]string{}
	for _, s := range cat.Servers {
		r := row{dir: ident.CleanLine(s.Dir)}
		leads[r.dir] = s.Lead()
		for _, t := range s.Tools {
			if n, ok := lock.Servers[s.Key].Tools[t.Name].Names[language]; ok {
				r.names = append(r.names, ident.CleanLine(n.Function))
			}
		}
		if sort.Strings(r.names); len(r.names) > 0 {
			rows = append(rows, r)
		}
	}
	fits := func(rows []row, more int) bool { return tokens.Count(format(rows, more)) <= budget }
	shown := len(rows) // as many servers as fit
	if !fits(rows, 0) {
		shown = sort.Search(len(rows), func(n int) bool { return !fits(rows[:n+1], len(rows)-n-1) })
	}
	more := len(rows) - shown
	rows = rows[:shown]
	all := slices.Clone(rows) // with all tools, the list needs no line of names
	for i := range all {
		all[i].named = true
	}
	if more == 0 && fits(all, 0) {
		rows = all
	}
	for i := range rows { // then tools: those of a smaller server may fit where those of a larger one do not
		if rows[i].named = true; !fits(rows, more) {
			rows[i].named = false
		}
	}
	if !fits(rows, more) {
		return ""
	}
	for i := range rows { // then how the descriptions of a server's tools begin
		lead := strings.TrimRight(Shorten(leads[rows[i].dir], maxInstructions), " .:")
		if rows[i].lead = lead; lead != "" && !fits(rows, more) {
			rows[i].lead = ""
		}
	}
	return format(rows, more)
}

// row is a server of the index.
type row struct {
	dir, lead string
	names     []string
	named     bool // its tools are shown
}

// head names the server.
func (r row) head() string {
	if r.lead == "" {
		return r.dir
	}
	return r.dir + " (" + r.lead + ")"
}

func format(rows []row, more int) string {
	if len(rows) == 0 {
		return ""
	}
	var servers []string
	var tools strings.Builder
	all := more == 0
	for _, r := range rows {
		if !r.named {
			servers = append(servers, r.head())
			all = false
			continue
		}
		servers = append(servers, r.dir)
		fmt.Fprintf(&tools, "\n%s: %s", r.head(), strings.Join(r.names, " "))
	}
	if all {
		return "\nServers and tools:" + tools.String()
	}
	text := "\nServers: " + strings.Join(servers, ", ")
	if more > 0 {
		text += fmt.Sprintf(", and %d more: list ./servers", more)
	}
	if tools.Len() > 0 {
		text += "\nTools:" + tools.String()
	}
	return text
}

// maxInstructions bounds what is shown of one server's instructions, in bytes.
const maxInstructions = 120

// Instructions returns the beginning of each server's instructions, one line each, for as many servers as fit into budget tokens, in the
// catalog's order. It adds the number of servers left out, and hint, which may be empty, says where to read their instructions. The texts
// are the servers' own, without invisible characters.
func Instructions(cat *catalog.Catalog, budget int, hint string) string {
	if cat == nil {
		return ""
	}
	var rows []string
	for i := range cat.Servers {
		if text := Shorten(cat.Servers[i].Instructions, maxInstructions); text != "" {
			rows = append(rows, fmt.Sprintf("\n%s: %s", ident.CleanLine(cat.Servers[i].Dir), text))
		}
	}
	first := func(n int) string {
		text := "What servers say of themselves:" + strings.Join(rows[:n], "")
		if n < len(rows) {
			text += fmt.Sprintf("\nand %d more%s", len(rows)-n, hint)
		}
		return text
	}
	shown := len(rows)
	if shown > 0 && tokens.Count(first(shown)) > budget {
		shown = sort.Search(shown, func(n int) bool { return tokens.Count(first(n+1)) > budget })
	}
	if shown == 0 {
		return ""
	}
	return first(shown)
}

// Shorten returns as many of the first sentences of untrusted text as fit into most bytes, on one line, or the beginning of the first
// sentence if it does not fit.
func Shorten(text string, most int) string {
	text = ident.CleanLine(text)
	if len(text) <= most {
		return text
	}
	begin := ident.Head(text, most)
	if i := strings.LastIndex(begin, ". "); i > 0 {
		return begin[:i+1]
	}
	if i := strings.LastIndexByte(begin, ' '); i > most/2 {
		begin = begin[:i]
	}
	return begin + " …"
}
