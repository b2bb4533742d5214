package config

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

// maxYAMLNodes bounds a document once its aliases are followed.
const maxYAMLNodes = 100_000

// parseYAML reads one YAML document; an empty one is an empty object.
func (f *file) parseYAML() (node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(f.text))
	var doc yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return node{kind: kindObject, line: 1}, nil
	}
	if err != nil {
		return node{}, f.yamlError(err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return node{}, f.errorAt(0, "", "the file holds more than one document", "keep one, without ---")
	}
	b := yamlBuilder{file: f, left: maxYAMLNodes}
	return b.node(&doc, "")
}

// yamlProblem matches the library's texts: "yaml: line 3: did not find expected key".
var yamlProblem = regexp.MustCompile(`line (\d+): (.*)`)

func (f *file) yamlError(err error) error {
	m := yamlProblem.FindStringSubmatch(err.Error())
	if m == nil {
		return f.errorAt(0, "", strings.TrimPrefix(err.Error(), "yaml: "), "correct the YAML")
	}
	line, _ := strconv.Atoi(m[1]) // digits by the pattern; an absurd number of them leaves 0
	return f.errorAt(line, "", m[2], "correct the YAML")
}

type yamlBuilder struct {
	file        *file
	left, depth int
}

func (b *yamlBuilder) node(y *yaml.Node, path string) (node, error) {
	b.depth++
	defer func() { b.depth-- }()
	if b.left--; b.left < 0 || b.depth > maxDepth { // an alias may even hold itself
		return node{}, b.file.errorAt(y.Line, "", "the file is too large once its aliases are followed", "write out what is meant")
	}
	n := node{line: y.Line}
	switch y.Kind {
	case yaml.DocumentNode:
		return b.node(y.Content[0], path)
	case yaml.AliasNode:
		return b.node(y.Alias, path)
	case yaml.SequenceNode:
		n.kind = kindList
		for i, item := range y.Content {
			child, err := b.node(item, fmt.Sprintf("%s[%d]", path, i))
			if err != nil {
				return node{}, err
			}
			n.items = append(n.items, child)
		}
	case yaml.MappingNode:
		n.kind = kindObject
		for i := 0; i+1 < len(y.Content); i += 2 {
			key := y.Content[i]
			if key.Kind != yaml.ScalarNode {
				return node{}, b.file.errorAt(key.Line, path, "a key is not a plain word", "write it as a word")
			}
			child, err := b.node(y.Content[i+1], join(path, key.Value))
			if err != nil {
				return node{}, err
			}
			n.members = append(n.members, member{name: key.Value, line: key.Line, value: child})
		}
		return n, b.file.checkMembers(n.members, path)
	case yaml.ScalarNode:
		n.kind, n.text = yamlScalar(y)
	}
	return n, nil
}

func yamlScalar(y *yaml.Node) (kind, string) {
	switch y.Tag {
	case "!!null":
		return kindNull, ""
	case "!!bool":
		return kindBool, strings.ToLower(y.Value)
	case "!!int", "!!float":
		return kindNumber, y.Value
	}
	return kindString, y.Value
}
