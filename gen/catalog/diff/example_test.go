package diff_test

import (
	"encoding/json"
	"fmt"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/catalog/diff"
)

// catalogOf makes a catalog of one server with one tool.
func catalogOf(limit int) *catalog.Catalog {
	tool := fmt.Sprintf(`{"name": "search", "inputSchema": {"type": "object", "properties": {"limit": {"type": "integer", "maximum": %d}}}}`, limit)
	server, _ := catalog.NewServer("crm", "CRM", "", []json.RawMessage{json.RawMessage(tool)})
	c, err := catalog.New([]catalog.Server{server})
	if err != nil {
		panic(err)
	}
	return c
}

func ExampleCatalogs() {
	for _, change := range diff.Catalogs(catalogOf(100), catalogOf(50), nil) {
		fmt.Println(change.ID, change.Kind, change.Impact)
		for _, line := range change.Lines() {
			fmt.Println(line)
		}
	}
	// Output:
	// crm__search input breaking
	// limit: narrowed: maximum 100 → 50
}
