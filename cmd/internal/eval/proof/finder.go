package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/search"
)

// hits is the number of tools that a search lists. It is the same in all ways, and is the number in search_tools and AGENTS.md.
const hits = 5

// found is the answer of a search: the text that a model reads, the ids in it, and the ids of the tools that it shows well enough to call.
type found struct {
	text       string
	ids, shown []string
}

// lookup is how a model finds out how tools are called. Each function returns what the model reads.
type lookup struct {
	led   *ledger
	count func(string) int
	calls int
	// search runs one search. asSearch returns what the model writes for several searches, all in one turn.
	search   func(query object) (found, error)
	asSearch func(queries []object) string
	// define and asDefine are the same for definitions of tools that a search named but did not show. If they are nil, a search
	// for the tool's id shows it.
	define   func(tools []string) (string, error)
	asDefine func(tools []string) string
}

// tools looks up the tools of a task: all of them in one turn, then the ones that were not found, with other queries. Tools that
// a listing only names are looked up in a last turn.
func (l *lookup) tools(t task) error {
	missing, named := t.needs, []string(nil)
	for round := 0; len(missing) > 0; round++ {
		var queries []object
		var text strings.Builder
		var ids, shown []string
		for _, n := range missing {
			all := n.searches()
			if round == len(all) {
				return fmt.Errorf("no listing of %s names %s", n.server(), n.tool)
			}
			f, err := l.search(all[round])
			if err != nil {
				return err
			}
			queries = append(queries, all[round])
			text.WriteString(f.text)
			ids, shown = append(ids, f.ids...), append(shown, f.shown...)
		}
		l.turn(l.asSearch(queries), text.String(), len(queries))
		var still []need
		for _, n := range missing {
			switch {
			case slices.Contains(shown, n.tool):
			case slices.Contains(ids, n.tool):
				named = append(named, n.tool)
			default:
				still = append(still, n)
			}
		}
		missing = still
	}
	if len(named) == 0 {
		return nil
	}
	if l.define != nil {
		text, err := l.define(named)
		l.turn(l.asDefine(named), text, len(named))
		return err
	}
	var queries []object
	text := ""
	for _, id := range named {
		queries = append(queries, object{"query": id})
		f, err := l.search(queries[len(queries)-1])
		if err != nil {
			return err
		}
		if !slices.Contains(f.shown, id) {
			return fmt.Errorf("a search for %s does not show it", id)
		}
		text += f.text
	}
	l.turn(l.asSearch(queries), text, len(named))
	return nil
}

// turn counts one turn with calls that do not depend on each other.
func (l *lookup) turn(wrote, read string, calls int) {
	l.led.write(l.count(wrote))
	l.led.read(l.count(read))
	l.calls += calls
}

// asCalls returns what a model writes to call one tool with each of the arguments.
func asCalls(tool string, arguments []object) string {
	var b strings.Builder
	for _, args := range arguments {
		b.WriteString(written(tool, args))
	}
	return b.String()
}

// definitionQueries returns the arguments of get_tool_definition for tools.
func definitionQueries(tools []string) []object {
	var out []object
	for _, tool := range tools {
		out = append(out, object{"tool_name": tool})
	}
	return out
}

// finder searches the tools of a tree, as search_tools does.
type finder struct {
	tree  *gen.Tree
	index *search.Index
}

func newFinder(tree *gen.Tree) *finder { return &finder{tree, tree.Index(nil)} }

func (f *finder) hits(ctx context.Context, query object) ([]search.Hit, error) {
	q := search.Query{Limit: hits}
	q.Text, _ = query["query"].(string)
	if q.Category, _ = query["category"].(string); q.Text == "" {
		q.Limit = search.MaxLimit
	}
	return f.index.Search(ctx, q)
}

// definitions is the search of search-then-call. It has the listing of search_tools, with definitions in place of signatures,
// because a host needs definitions to offer a tool to a model.
func (f *finder) definitions(ctx context.Context, query object) (out found, err error) {
	list, err := f.hits(ctx, query)
	if err != nil {
		return out, err
	}
	var shown strings.Builder
	for i, h := range list {
		out.ids = append(out.ids, h.ID)
		if i < search.Likely(list) || len(list) <= search.Few {
			out.shown = append(out.shown, h.ID)
			shown.WriteString("\n" + definition(h.Tool))
		}
	}
	out.text = strings.Join(out.ids, "\n") + "\n" + shown.String()
	return out, nil
}

// lookup sets how search-then-call finds tools.
func (f *finder) lookup(ctx context.Context, l *lookup) *lookup {
	l.search = func(query object) (found, error) { return f.definitions(ctx, query) }
	l.define = func(tools []string) (string, error) {
		all := ""
		for _, id := range tools {
			if _, tool, ok := f.tree.Catalog.Lookup(id); ok {
				all += definition(tool)
			}
		}
		return all, nil
	}
	l.asSearch = func(queries []object) string { return asCalls("search_tools", queries) }
	l.asDefine = func(tools []string) string { return asCalls("get_tool_definition", definitionQueries(tools)) }
	return l
}

// signatures is the search of mcpgen.
func (f *finder) signatures(ctx context.Context, query object) (found, error) {
	list, err := f.hits(ctx, query)
	if err != nil {
		return found{}, err
	}
	results, err := f.tree.Results(list, search.DetailSignature, config.TypeScript)
	if err != nil {
		return found{}, err
	}
	return f.read(search.Listing(results)), nil
}

// idLine matches a line of a listing that is an id, and importLine one that imports a tool.
var (
	idLine     = regexp.MustCompile(`(?m)^\w+__\w+$`)
	importLine = regexp.MustCompile(`(?m)^import \{ (\w+) \} from "\./servers/(\w+)/index\.ts";$`)
)

// read parses a listing with signatures.
func (f *finder) read(text string) found {
	out := found{text: text, ids: idLine.FindAllString(text, -1)}
	for _, m := range importLine.FindAllStringSubmatch(text, -1) {
		out.shown = append(out.shown, f.tree.Named(m[2]+"/"+m[1])...)
	}
	return out
}
