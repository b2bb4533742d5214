package search

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
)

// UnknownError reports a filter that names nothing.
type UnknownError struct {
	// What is "server" or "category".
	What, Name string
	// Near are names that may have been meant, the likeliest first. Known are the first of all names, sorted.
	Near, Known []string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("no %s is called %q", e.What, ident.Head(e.Name, 200))
}

// Hint lists the existing names.
func (e *UnknownError) Hint() string {
	switch {
	case len(e.Near) > 0:
		return "did you mean " + strings.Join(e.Near, " or ") + "?"
	case len(e.Known) > 0:
		return "there are " + strings.Join(e.Known, ", ")
	}
	return "the tree has no tools"
}

// ExitCode is exit.Usage.
func (e *UnknownError) ExitCode() int { return exit.Usage }

// scope is the set of servers that the filters leave, by their index in the catalog. Nil means all documents.
type scope map[int32]bool

func (s scope) has(d *doc) bool { return s == nil || s[d.serverIndex] }

// scope finds the servers to which a query is limited.
func (x *Index) scope(q Query) (scope, error) {
	if q.Server == "" && q.Category == "" {
		return nil, nil
	}
	out := scope{}
	var servers []string
	wantedServer, wantedCategory := ident.Fold(q.Server), ident.Fold(q.Category)
	serverThere, categoryThere := q.Server == "", q.Category == ""
	for i, m := range x.members {
		servers = append(servers, m.server.Key)
		named := func(name string) bool { return ident.Fold(m.server.Key) == name || ident.Fold(m.server.Dir) == name }
		fitsServer := q.Server == "" || named(wantedServer)
		fitsCategory := q.Category == "" || ident.Fold(m.category) == wantedCategory || named(wantedCategory)
		serverThere, categoryThere = serverThere || fitsServer, categoryThere || fitsCategory
		if fitsServer && fitsCategory {
			out[int32(i)] = true
		}
	}
	var categories []string
	for _, c := range x.categories {
		categories = append(categories, c.Name)
	}
	if !serverThere {
		return nil, unknown("server", q.Server, servers)
	}
	if !categoryThere {
		return nil, unknown("category", q.Category, categories)
	}
	return out, nil
}

func unknown(what, name string, known []string) error {
	const most = 20
	slices.SortFunc(known, func(a, b string) int { return cmp.Compare(a, b) })
	return &UnknownError{What: what, Name: name, Near: ident.Nearest(name, known, 3), Known: known[:min(most, len(known))]}
}
