// Package index describes the generated tree in a few tokens, for the description of execute_code.
package index

import (
	"fmt"
	"sort"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/tokens"
)

// Text returns the part of execute_code's description that is about the tree: how to import a wrapper, each server with
// its number of tools, and the names of tools as far as they fit into budget tokens. It depends on the tree only, so it is
// the same at every start. Servers are in the catalog's order; a server's names are all given or none.
func Text(cat *catalog.Catalog, lock *catalog.Lock, language string, budget int) string {
	if cat == nil || lock == nil || len(cat.Servers) == 0 || budget < 0 {
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
	example := fmt.Sprintf("import { %s } from \"./servers/%s/index.ts\"", rows[0].names[0], rows[0].dir)
	if language == "python" {
		example = fmt.Sprintf("from servers.%s import %s", rows[0].dir, rows[0].names[0])
	}
	head := "\nExample: " + example + "\nServers:"
	fits := func(rows []row, more int) bool { return tokens.Count(head+format(rows, more)) <= budget }

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
	if text := head + format(rows, more); fits(rows, more) {
		return text
	}
	return ""
}

// row is a server of the index.
type row struct {
	dir   string
	names []string
	named bool // names are shown, not only their number
}

func format(rows []row, more int) string {
	var b strings.Builder
	for _, r := range rows {
		if r.named {
			fmt.Fprintf(&b, "\n%s: %s", r.dir, strings.Join(r.names, " "))
		} else {
			fmt.Fprintf(&b, "\n%s (%d)", r.dir, len(r.names))
		}
	}
	if more > 0 {
		fmt.Fprintf(&b, "\nand %d more: list ./servers", more)
	}
	return b.String()
}
