// Package index describes the generated tree in a few tokens, for what every client reads at its start.
package index

import (
	"fmt"
	"sort"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/tokens"
)

// Example is a tool to show calls with.
type Example struct {
	Dir string
	// Functions are the names of its function by language.
	Functions map[string]string
}

// ExampleOf returns the first tool of the tree whose names differ from language to language, which shows how they are
// made, else the first of all. It is nil if there is no tool.
func ExampleOf(cat *catalog.Catalog, lock *catalog.Lock) *Example {
	if cat == nil || lock == nil {
		return nil
	}
	var first *Example
	for _, s := range cat.Servers {
		for _, t := range s.Tools {
			e := &Example{Dir: ident.CleanLine(s.Dir), Functions: map[string]string{}}
			different := map[string]bool{}
			for language, n := range lock.Servers[s.Key].Tools[t.Name].Names {
				e.Functions[language] = ident.CleanLine(n.Function)
				different[n.Function] = true
			}
			if len(different) > 1 {
				return e
			}
			if first == nil && len(different) > 0 {
				first = e
			}
		}
	}
	return first
}

// Text returns the part of execute_code's description that lists the tree: each server with its number of tools, or the names
// of their functions as far as they fit into budget tokens. It depends on the tree only, so it is the same at every start.
// Servers are in the catalog's order; a server's names are all given or none.
func Text(cat *catalog.Catalog, lock *catalog.Lock, language string, budget int) string {
	if cat == nil || lock == nil || budget < 0 {
		return ""
	}
	var rows []row
	for _, s := range cat.Servers {
		r := row{dir: ident.CleanLine(s.Dir)}
		for _, t := range s.Tools {
			if n, ok := lock.Servers[s.Key].Tools[t.Name].Names[language]; ok {
				r.names = append(r.names, ident.CleanLine(n.Function))
			}
		}
		if sort.Strings(r.names); len(r.names) > 0 {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return ""
	}
	fits := func(rows []row, more int) bool { return tokens.Count(format(rows, more)) <= budget }
	shown := len(rows) // as many servers as fit
	if !fits(rows, 0) {
		shown = sort.Search(len(rows), func(n int) bool { return !fits(rows[:n+1], len(rows)-n-1) })
	}
	more := len(rows) - shown
	rows = rows[:shown]
	for i := range rows { // then names: a smaller server's may fit after a larger one's do not
		if rows[i].named = true; !fits(rows, more) {
			rows[i].named = false
		}
	}
	if !fits(rows, more) {
		return ""
	}
	return format(rows, more)
}

// row is a server of the index.
type row struct {
	dir   string
	names []string
	named bool // names are shown, not only their number
}

func format(rows []row, more int) string {
	var counted []string // servers of which only the number of tools is shown
	var named strings.Builder
	example := ""
	for _, r := range rows {
		if r.named {
			fmt.Fprintf(&named, "\n%s: %s", r.dir, strings.Join(r.names, " "))
			continue
		}
		counted = append(counted, fmt.Sprintf("%s %d", r.dir, len(r.names)))
		example = r.dir
	}
	if more > 0 {
		counted = append(counted, fmt.Sprintf("and %d more: list ./servers", more))
	}
	switch {
	case example != "":
		return fmt.Sprintf("\nServers and how many tools they have (search_tools with category %q and no query lists them): ", example) +
			strings.Join(counted, ", ") + named.String()
	case more > 0:
		return "\nServers (" + counted[0] + "):" + named.String()
	}
	return "\nServers:" + named.String()
}

// maxInstructions bounds what is shown of one server's instructions, in bytes.
const maxInstructions = 120

// Instructions returns the beginning of what each server says of itself, on a line each: of as many servers as fit into budget
// tokens, in the catalog's order, and how many more there are. hint, which may be empty, says where to read those. The texts are the
// servers' own, without invisible characters.
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

// Shorten returns the first sentences of untrusted text on one line, as many as most bytes hold, or the beginning of the
// first one.
func Shorten(text string, most int) string {
	text = ident.CleanLine(text)
	if len(text) <= most {
		return text
	}
	begin := strings.ToValidUTF8(text[:most], "")
	if i := strings.LastIndex(begin, ". "); i > 0 {
		return begin[:i+1]
	}
	if i := strings.LastIndexByte(begin, ' '); i > most/2 {
		begin = begin[:i]
	}
	return begin + " …"
}
