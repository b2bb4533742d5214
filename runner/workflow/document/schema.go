package document

import (
	_ "embed"
	"fmt"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/shape"
)

//go:embed workflow.schema.json
var schemaText string

// Schema returns the JSON Schema (2020-12) of a document, for editors and other checks. It decides which keys a document may have.
func Schema() string { return schemaText }

var schema = sync.OnceValue(func() *shape.Root {
	root, err := shape.Parse(schemaText)
	if err != nil {
		panic(err) // embedded: any test would find the error
	}
	return root
})

// former checks the form of a document.
type former struct {
	document *Document
	problems *Problems
	nodes    int
}

func (f *former) wrong(n *yaml.Node, message, hint string) {
	f.problems.add(f.document, n, message, hint)
}

// bounded checks the size of a document with its aliases followed, and refuses keys that are not texts, merges and tags.
func (f *former) bounded(n *yaml.Node, depth int) bool {
	if n = follow(n); depth > maxDepth {
		f.wrong(n, fmt.Sprintf("lists and mappings are nested more than %d deep", maxDepth), "move tasks to a script")
		return false
	}
	if f.nodes++; f.nodes > maxNodes {
		f.wrong(n, fmt.Sprintf("the document has more than %d values", maxNodes), "move data to files")
		return false
	}
	if n.Kind == yaml.ScalarNode && !slices.Contains([]string{"!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp"}, n.Tag) {
		f.wrong(n, fmt.Sprintf("the tag %q is not known", n.Tag), "remove it")
		return false
	}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && (child.Kind != yaml.ScalarNode || child.Tag == "!!merge" || child.Tag == "!!null") {
			f.wrong(child, "the key is not a text", "write the keys themselves")
			return false
		}
		if !f.bounded(child, depth+1) {
			return false
		}
	}
	return true
}

// check checks a value of a size that is bounded.
func (f *former) check(n *yaml.Node) {
	for _, m := range schema().Check(&schema().Schema, n, "") {
		if m.Missing != "" {
			m.Problem, m.Remedy = "the key "+m.Missing+" is missing", "write "+m.Missing+": …"
		}
		f.wrong(m.Node, m.Problem, m.Remedy)
	}
}
