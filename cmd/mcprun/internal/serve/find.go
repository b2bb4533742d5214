package serve

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/task"
)

// finder finds tools of a tree for clients.
type finder struct {
	tree  *gen.Tree
	index *search.Index
	log   *slog.Logger
	// also lists languages in which imports are given besides the requested one.
	also []config.Language
}

// Search finds tools by words.
func (f *finder) Search(ctx context.Context, q search.Query, detail search.Detail, language string) ([]search.Result, error) {
	answer, err := f.index.Answer(ctx, q)
	if err != nil {
		return nil, err
	}
	if answer.Degraded != nil {
		f.log.Warn("a search used less than is configured", "error", answer.Degraded)
	}
	return f.shown(answer.Hits, detail, language)
}

func (f *finder) shown(hits []search.Hit, detail search.Detail, language string) ([]search.Result, error) {
	results, err := f.tree.Results(hits, detail, config.Language(language), f.also...)
	if err != nil { // a language may lack some wrappers
		return f.tree.Results(hits, detail, "")
	}
	return results, nil
}

// selectTools is [mcpserver.Project.Task].
func (b *snapshot) selectTools(ctx context.Context, text, language string) (string, error) {
	tree := task.Tree{Tree: b.tree, Index: b.index}
	s, err := tree.Select(ctx, text, sandbox.Language(language), 0, 0)
	if err != nil {
		return "", err
	}
	if s.Degraded != "" {
		b.log.Warn("a task was searched with less than is configured", "error", s.Degraded)
	}
	return s.Instructions(text, &task.Rules{Packages: b.offer.Packages, Personal: b.hides}), nil
}

// Definition finds tools by name: an id, a server's own name for it, or the name of the wrapper's function.
func (f *finder) Definition(ctx context.Context, name, category, language string) ([]search.Result, error) {
	of := map[string]bool{} // servers in the category
	if category != "" {
		// A search without words checks the category and says which servers are in it.
		if _, err := f.index.Search(ctx, search.Query{Category: category, Limit: 1}); err != nil {
			return nil, err
		}
	}
	for _, c := range f.index.Categories() {
		if category != "" && !c.Is(category) {
			continue
		}
		for _, key := range c.Servers {
			of[key] = true
		}
	}
	var hits []search.Hit
	for _, id := range f.tree.Named(name) {
		if h, ok := f.index.Hit(id); ok && of[h.Server.Key] {
			hits = append(hits, h)
		}
	}
	const most = 5
	switch {
	case len(hits) == 0:
		return nil, f.unknown(ctx, name)
	case len(hits) > most:
		return nil, fmt.Errorf("%d tools are called %.100q: name the server too, as in %s", len(hits), name, hits[0].ID)
	}
	return f.shown(hits, search.DetailFull, language)
}

// unknown returns the error for a tool that does not exist; it suggests similar ones.
func (f *finder) unknown(ctx context.Context, name string) error {
	hits, err := f.index.Search(ctx, search.Query{Text: name, Limit: 3})
	if err != nil || len(hits) == 0 {
		return fmt.Errorf("no tool %.100q; find one with search_tools", name)
	}
	ids := make([]string, len(hits))
	for i, h := range hits {
		ids[i] = h.ID
	}
	return fmt.Errorf("no tool %.100q; did you mean %s?", name, strings.Join(ids, ", "))
}

// together adds what the customer's runs used with the tools that were found. A search does not fail because of it.
func (b *snapshot) together(ctx context.Context, customer string, found []search.Result) {
	if err := b.project.Recommend(ctx, b.tree.Catalog, customer, found); err != nil {
		b.log.Warn("what was used together is left out of a search", "error", err)
	}
}

// Categories lists the groups of tools.
func (f *finder) Categories() []mcpserver.Category {
	var out []mcpserver.Category
	for _, c := range f.index.Categories() {
		out = append(out, mcpserver.Category{Name: c.Name, Description: c.About, Servers: c.Servers, Tools: c.Tools})
	}
	return out
}
