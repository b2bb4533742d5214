package serve

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/search"
)

// TestDefinitionInCategory checks that a category is matched as a search does it, and reported as it is configured.
func TestDefinitionInCategory(t *testing.T) {
	tree := filepath.Join("..", "..", "..", "..", "servers")
	cat, lock, err := catalog.LoadTree(tree)
	if err != nil {
		t.Fatal(err)
	}
	index := search.New(cat, &search.Options{Categories: map[string]string{"crm": "Customer Data", "drive": "Office"}})
	f := &finder{tree: &gen.Tree{Dir: tree, Catalog: cat, Lock: lock}, index: index, log: slog.New(slog.DiscardHandler)}
	found, err := f.Definition(t.Context(), "crm__query_records", "customer-data", "typescript")
	if err != nil || len(found) != 1 || found[0].Category != "Customer Data" {
		t.Errorf(`%+v, %v, want len(found) 1, Category "Customer Data" and no error`, found, err)
	}
	for _, category := range []string{"office", "nothing"} {
		if found, err := f.Definition(t.Context(), "crm__query_records", category, "typescript"); err == nil {
			t.Errorf("in %s there is %+v: got no error, want an error", category, found)
		}
	}
}
