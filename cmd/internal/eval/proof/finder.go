package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/search"
)

// finder searches the tools of a tree, as search_tools does.
type finder struct {
	tree  *gen.Tree
	index *search.Index
}

func newFinder(tree *gen.Tree) *finder { return &finder{tree, search.New(tree.Catalog, nil)} }

// search takes the arguments of search_tools, and returns the ids of the hits, best first, and the text that a model reads.
func (f *finder) search(ctx context.Context, query object) (ids []string, text string, err error) {
	category, _ := query["category"].(string)
	hits, err := f.index.Search(ctx, search.Query{Text: fmt.Sprint(query["query"]), Category: category})
	if err != nil {
		return nil, "", err
	}
	results, err := f.tree.Results(hits, search.DetailDescription, config.TypeScript)
	if err != nil {
		return nil, "", err
	}
	var b strings.Builder
	for i, h := range hits {
		ids = append(ids, h.ID)
		fmt.Fprintf(&b, "%s: %s\n", h.ID, results[i].Description)
	}
	return ids, b.String(), nil
}

// learn searches for a tool, with other queries if the first does not find it, and reads its definition.
func (f *finder) learn(m *model, t task, tool string) error {
	known := false
	for _, query := range t.searches(tool) {
		m.led.write(m.count(written("search_tools", query)))
		m.calls++
		hits, text, err := f.search(m.ctx, query)
		if err != nil {
			return err
		}
		m.led.read(m.count(text))
		if known = slices.Contains(hits, tool); known {
			break
		}
	}
	_, found, ok := m.tools.Lookup(tool)
	if !known || !ok {
		return fmt.Errorf("no search finds %s", tool)
	}
	m.led.write(m.count(written("get_tool_definition", object{"tool_name": tool})))
	m.calls++
	m.led.read(m.count(definition(found)))
	return nil
}
