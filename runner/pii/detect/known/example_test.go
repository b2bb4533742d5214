package known_test

import (
	"fmt"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
	"github.com/mcpgen/mcpgen/runner/pii/detect/known"
)

func ExampleValues() {
	var values known.Values
	values.Add(detect.Name, "Jane Whitaker")
	text := "Whitaker, Jane called."
	for _, m := range values.Find(text) {
		fmt.Println(m.Type, text[m.Start:m.End])
	}
	// Output: NAME Whitaker, Jane
}
