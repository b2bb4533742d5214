package node

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ParseYAML reads one YAML document. An empty document is an empty mapping. Keys are unique, and no alias contains itself.
func (f *File) ParseYAML() (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(f.Text))
	var doc yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: 1}, nil
	}
	if err != nil {
		return nil, f.YAMLError(err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, f.ErrorAt(0, "", "the file holds more than one document", "keep one, without ---")
	}
	var value any
	if err := doc.Decode(&value); err != nil { // detects repeated keys, and bounds the work of aliases
		return nil, f.YAMLError(err)
	}
	return doc.Content[0], nil
}

// yamlProblem matches the library's errors, such as "yaml: line 3: did not find expected key".
var yamlProblem = regexp.MustCompile(`line (\d+): (.*)`)

// YAMLError returns an error of the library as a [*FileError].
func (f *File) YAMLError(err error) error {
	m := yamlProblem.FindStringSubmatch(err.Error())
	if m == nil {
		return f.ErrorAt(0, "", strings.TrimPrefix(err.Error(), "yaml: "), "correct the YAML")
	}
	line, _ := strconv.Atoi(m[1]) // the pattern matches digits only; too many of them give 0
	return f.ErrorAt(line, "", m[2], "correct the YAML; a text with a colon and a space or with \" #\", and one that begins with a quote or !, needs quotes around it")
}

// Pairs returns the keys and values of a mapping. For anything else, such as nil, there are none.
func Pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		if n != nil && n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// Value returns the value of a key in a mapping, or nil.
func Value(n *yaml.Node, key string) *yaml.Node {
	for k, v := range Pairs(n) {
		if k.Value == key {
			return v
		}
	}
	return nil
}
