package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxYAMLNodes bounds the values of a document with its aliases expanded.
const maxYAMLNodes = 100_000

// ParseYAML reads one YAML document; an empty one is an empty object.
func (f *File) ParseYAML() (Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(f.Text))
	var doc yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return Node{Kind: KindObject, Line: 1}, nil
	}
	if err != nil {
		return Node{}, f.yamlError(err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return Node{}, f.ErrorAt(0, "", "the file holds more than one document", "keep one, without ---")
	}
	b := yamlBuilder{file: f, left: maxYAMLNodes}
	return b.node(&doc, "")
}

// yamlProblem matches the library's errors, such as "yaml: line 3: did not find expected key".
var yamlProblem = regexp.MustCompile(`line (\d+): (.*)`)

func (f *File) yamlError(err error) error {
	m := yamlProblem.FindStringSubmatch(err.Error())
	if m == nil {
		return f.ErrorAt(0, "", strings.TrimPrefix(err.Error(), "yaml: "), "correct the YAML")
	}
	line, _ := strconv.Atoi(m[1]) // digits by the pattern; an absurd number of them leaves 0
	return f.ErrorAt(line, "", m[2], "correct the YAML")
}

type yamlBuilder struct {
	file        *File
	left, depth int
}

func (b *yamlBuilder) node(y *yaml.Node, path string) (Node, error) {
	b.depth++
	defer func() { b.depth-- }()
	if b.left--; b.left < 0 || b.depth > MaxDepth { // an alias may contain itself
		return Node{}, b.file.ErrorAt(y.Line, "", "the file is too large with its aliases expanded", "use fewer aliases")
	}
	n := Node{Line: y.Line}
	switch y.Kind {
	case yaml.DocumentNode:
		return b.node(y.Content[0], path)
	case yaml.AliasNode:
		return b.node(y.Alias, path)
	case yaml.SequenceNode:
		n.Kind = KindList
		for i, item := range y.Content {
			child, err := b.node(item, fmt.Sprintf("%s[%d]", path, i))
			if err != nil {
				return Node{}, err
			}
			n.Items = append(n.Items, child)
		}
	case yaml.MappingNode:
		n.Kind = KindObject
		for i := 0; i+1 < len(y.Content); i += 2 {
			key := y.Content[i]
			if key.Kind != yaml.ScalarNode {
				return Node{}, b.file.ErrorAt(key.Line, path, "a key is not a plain word", "write it as a word")
			}
			child, err := b.node(y.Content[i+1], Join(path, key.Value))
			if err != nil {
				return Node{}, err
			}
			n.Members = append(n.Members, Member{Name: key.Value, Line: key.Line, Value: child})
		}
		return n, b.file.checkMembers(n.Members, path)
	case yaml.ScalarNode:
		n.Kind, n.Text = yamlScalar(y)
	}
	return n, nil
}

func yamlScalar(y *yaml.Node) (Kind, string) {
	switch y.Tag {
	case "!!null":
		return KindNull, ""
	case "!!bool":
		return KindBool, strings.ToLower(y.Value)
	case "!!int", "!!float":
		return KindNumber, y.Value
	}
	return KindString, y.Value
}
