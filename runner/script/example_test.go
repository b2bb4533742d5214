package script_test

import (
	"context"
	"fmt"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
)

// A script that imports nothing needs no folders. Errors in it have a place.
func ExampleRead() {
	src := script.Source{Name: "total.ts", Code: "const total = 1 +;", Language: sandbox.LangTypeScript}
	_, err := script.Read(context.Background(), src, script.Options{})
	fmt.Println(err)
	// Output:
	// total.ts:1:18: Unexpected ";"
	//     const total = 1 +;
	//                      ^
}
