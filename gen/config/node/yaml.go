package node

import (
	"bytes"
	"encoding/json"
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

// maxJSON bounds what JSON returns, in bytes: aliases make much of little.
const maxJSON = 1 << 20

// JSON returns a value that ParseYAML has read as JSON, with members in their order. Keys and dates are texts. The error is a [*FileError]; key is
// the place of the value.
func (f *File) JSON(n *yaml.Node, key string) ([]byte, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	out := []byte{}
	switch n.Kind {
	case yaml.MappingNode:
		for k, v := range Pairs(n) {
			if k.ShortTag() == "!!merge" {
				return nil, f.ErrorAt(k.Line, key, "a merge key (<<) is not supported here", "write the members themselves")
			}
			value, err := f.JSON(v, Join(key, k.Value))
			if err != nil {
				return nil, err
			}
			name, err := json.Marshal(k.Value)
			if err != nil {
				return nil, err
			}
			if out = append(append(append(append(out, ','), name...), ':'), value...); len(out) > maxJSON {
				return nil, f.ErrorAt(n.Line, key, "the value is larger than 1 MiB, maybe because of its aliases", "write less")
			}
		}
		return append(append([]byte{'{'}, bytes.TrimPrefix(out, []byte{','})...), '}'), nil
	case yaml.SequenceNode:
		for i, item := range n.Content {
			value, err := f.JSON(item, Join(key, strconv.Itoa(i)))
			if err != nil {
				return nil, err
			}
			if out = append(append(out, ','), value...); len(out) > maxJSON {
				return nil, f.ErrorAt(n.Line, key, "the value is larger than 1 MiB, maybe because of its aliases", "write less")
			}
		}
		return append(append([]byte{'['}, bytes.TrimPrefix(out, []byte{','})...), ']'), nil
	}
	var value any
	switch tag := n.ShortTag(); {
	case tag == "!!str" || tag == "!!timestamp":
		value = n.Value
	case (tag == "!!int" || tag == "!!float") && json.Valid([]byte(n.Value)):
		return []byte(n.Value), nil
	default:
		if err := n.Decode(&value); err != nil {
			return nil, f.YAMLError(err)
		}
	}
	raw, err := json.Marshal(value)
	if err != nil { // such as .inf
		return nil, f.ErrorAt(n.Line, key, "the value cannot be written as JSON", "write a text, a number, true, false or null")
	}
	return raw, nil
}
