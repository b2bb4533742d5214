package ident_test

import (
	"fmt"

	"github.com/mcpgen/mcpgen/gen/ident"
)

func ExampleUnique() {
	names := []string{"get-document", "getDocument", "delete"}
	for _, id := range ident.Unique(names, ident.Camel, ident.TypeScriptReserved) {
		fmt.Println(id)
	}
	// Output:
	// getDocument_865ec7
	// getDocument
	// delete_
}
