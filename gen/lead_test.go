package gen

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/search"
)

// TestSharedBeginning checks that the common beginning of a server's tools appears once, in the server's index, and that a deprecated tool
// is marked there and found last.
func TestSharedBeginning(t *testing.T) {
	const lead = "This tool belongs to the trading desk, which has one account."
	var tools []string
	for i, does := range []string{"Read an order.", "Place an order.", "Change an order. DEPRECATED: place a new one.", "Cancel an order."} {
		tools = append(tools, tool(fmt.Sprintf("order_%d", i), lead+" "+does))
	}
	p := newProject(t, map[string][]string{"desk": tools})
	p.mustSync(nil)
	for path, content := range p.files() {
		want := 0
		if strings.HasSuffix(path, "/desk/index.ts") || strings.HasSuffix(path, "/desk/__init__.py") {
			want = 1
		}
		if got := strings.Count(content, lead); got != want && !strings.Contains(path, ".mcpgen") {
			t.Errorf("%s says %d times what tools begin with, want %d:\n%s", path, got, want, content)
		}
		if want == 1 && (!strings.Contains(content, "DEPRECATED: Change an order.") || !strings.Contains(content, "Cancel an order.")) {
			t.Errorf("%s:\n%s", path, content)
		}
	}
	tree, err := Open(Options{Dir: p.dir})
	if err != nil {
		t.Fatal(err)
	}
	hits, err := search.New(tree.Catalog, nil).Search(t.Context(), search.Query{Text: "order"})
	if err != nil || len(hits) != len(tools) || hits[len(hits)-1].ID != "desk__order_2" {
		t.Fatalf("Search() = %v, %v; want the deprecated tool last", hits, err)
	}
	results, err := tree.Results(hits, search.DetailDescription, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if strings.Contains(r.Description, "trading desk") || strings.Contains(r.Description, "DEPRECATED") != (r.Tool == "desk__order_2") {
			t.Errorf("%s: the description is %q", r.Tool, r.Description)
		}
	}
}
