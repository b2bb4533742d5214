package shape_test

import (
	"fmt"

	"github.com/mcpgen/mcpgen/gen/config/node"
	"github.com/mcpgen/mcpgen/gen/config/shape"
)

func Example() {
	root, err := shape.Parse(`{
		"required": ["name"], "additionalProperties": false,
		"properties": {"name": {"type": "string", "minLength": 1}, "tries": {"type": "integer", "minimum": 1, "maximum": 9}}
	}`)
	if err != nil {
		panic(err)
	}
	n, err := (&node.File{Name: "a.yaml", Text: []byte("nam: Ann\ntries: 010\n")}).ParseYAML()
	if err != nil {
		panic(err)
	}
	for _, m := range root.Check(&root.Schema, n, "") {
		fmt.Printf("%d %s: %s; %s\n", m.Node.Line, m.Path, m.Problem, m.Remedy)
	}
	// Output:
	// 1 : the key "nam" is not known; did you mean name?
	// 2 tries: "010" is not a decimal number; write a number from 1 to 9
	// 1 name: it is missing; write it
}
