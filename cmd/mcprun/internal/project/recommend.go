package project

import (
	"context"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/runner/recommend"
)

// Recommend adds to the results of a search what the customer's runs used with the tools, if the settings say so.
func (p *Project) Recommend(ctx context.Context, cat *catalog.Catalog, customer string, found []search.Result) error {
	if !p.Settings.Search.Recommend || len(found) == 0 {
		return nil
	}
	kept, err := p.OpenState(ctx)
	if err != nil {
		return err
	}
	return recommend.Annotate(ctx, kept, customer, found, func(tool string) bool {
		_, _, ok := cat.Lookup(tool)
		return ok
	})
}
