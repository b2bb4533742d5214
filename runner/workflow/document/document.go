// Package document reads workflows that people write as YAML or JSON, in the words and meaning of Serverless Workflow 1.0
// (https://github.com/serverlessworkflow/specification), checks them against the generated tree, and compiles them to TypeScript. Start with
// [Read] and [Document.Compile].
//
// A document is not interpreted: what it compiles to is an ordinary script that uses the functions workflow.* of the library mcprun, and runs
// with the sandbox, policy and record of any other. Expressions are CEL. The script sends the text of an expression with the variables that it
// reads to the host, which knows the expressions of the document and evaluates no others; see [Compiled.Answers].
//
// Documents are hostile: their texts reach the script as string literals only, and their size and depth are limited. workflow.schema.json,
// which [Schema] returns, is the table of keys.
package document

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/node"
	"github.com/mcpgen/mcpgen/gen/ident"
)

// MaxSize is the largest document, in bytes.
const MaxSize = 1 << 20

// maxDepth bounds how deep lists and mappings are nested in each other, and maxNodes how many values there are with aliases followed.
const (
	maxDepth = 100
	maxNodes = 50_000
)

// Document is a workflow whose form was checked.
type Document struct {
	// File is the file as it was named, for messages.
	File string
	// Name and Version are those of the document. Title is "" if it has none.
	Name, Version, Title string
	// Text is what was read.
	Text []byte

	root  *yaml.Node
	lines []string
	tasks []*task
}

// Read reads a document. YAML is a superset of JSON, but a file whose name ends in .json must be JSON. The error is [*Problems] and lists
// everything that is wrong with the document's form.
func Read(file string, text []byte) (*Document, error) {
	d := &Document{File: file, Text: text}
	p := &Problems{}
	if len(text) > MaxSize {
		p.add(d, nil, fmt.Sprintf("the document has %d bytes", len(text)), fmt.Sprintf("it can have %d; move data to files", MaxSize))
		return nil, p
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	d.lines = strings.Split(string(text), "\n")
	var err error
	if strings.EqualFold(filepath.Ext(file), ".json") {
		d.root, err = parseJSON(text)
	} else {
		d.root, err = (&node.File{Name: file, Text: text}).ParseYAML()
	}
	if err != nil {
		p.parsing(d, err)
		return nil, p
	}
	f := &former{document: d, problems: p}
	if f.bounded(d.root, 0) {
		f.check(d.root)
	}
	if len(p.List) > 0 {
		return nil, p.sorted()
	}
	about := node.Value(d.root, "document")
	d.Name, d.Version, d.Title = value(about, "name").Value, value(about, "version").Value, value(about, "title").Value
	d.tasks = d.readTasks(node.Value(d.root, "do"))
	return d, nil
}

// Script returns the name of the script that the document becomes, for errors: that of its file, with .ts.
func (d *Document) Script() string {
	base := filepath.Base(d.File)
	return strings.TrimSuffix(base, filepath.Ext(base)) + ".ts"
}

// task is one task of a list.
type task struct {
	name string
	key  *yaml.Node // of the name
	kind string     // the key that says what the task does
	node *yaml.Node // the mapping
	// lists are the tasks below do, try, catch.do, fork.branches and compensate, by these names.
	lists map[string][]*task
}

// kinds are the keys that say what a task does. for comes before do, which it has too.
var kinds = []string{"call", "set", "for", "fork", "switch", "try", "wait", "listen", "raise", "do"}

// kindOfTask returns the key that says what a task does, or "".
func kindOfTask(n *yaml.Node) string {
	for _, kind := range kinds {
		if node.Value(n, kind) != nil {
			return kind
		}
	}
	return ""
}

// readTasks reads a list of tasks whose form was checked.
func (d *Document) readTasks(list *yaml.Node) []*task {
	var out []*task
	for _, item := range items(list) {
		for key, body := range node.Pairs(item) {
			body = follow(body)
			t := &task{name: key.Value, key: key, kind: kindOfTask(body), node: body, lists: map[string][]*task{}}
			for name, n := range map[string]*yaml.Node{
				"do": node.Value(body, "do"), "try": node.Value(body, "try"), "compensate": node.Value(body, "compensate"),
				"catch.do": node.Value(node.Value(body, "catch"), "do"), "fork.branches": node.Value(node.Value(body, "fork"), "branches"),
			} {
				t.lists[name] = d.readTasks(n)
			}
			out = append(out, t)
		}
	}
	return out
}

// follow returns what an alias stands for.
func follow(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// items returns the items of a list.
func items(n *yaml.Node) []*yaml.Node {
	if n = follow(n); n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// value returns the value at a path of keys, or a node without a value.
func value(n *yaml.Node, path ...string) *yaml.Node {
	if n = at(n, path...); n == nil {
		return &yaml.Node{}
	}
	return n
}

// at returns the value at a path of keys, or nil.
func at(n *yaml.Node, path ...string) *yaml.Node {
	for _, key := range path {
		n = follow(node.Value(n, key))
	}
	return n
}

// parseJSON reads JSON as the nodes of YAML. A repeated name is an error.
func parseJSON(text []byte) (*yaml.Node, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	lines := node.NewLineIndex(text)
	place := func(offset int64) (line, column int) {
		o := min(int(offset), len(text))
		for o < len(text) && strings.IndexByte(" \t\r\n,:", text[o]) >= 0 {
			o++
		}
		line = lines.Line(o)
		return line, o - bytes.LastIndexByte(text[:o], '\n')
	}
	failed := func(err error) error {
		line, column := place(dec.InputOffset())
		return &node.FileError{Line: line, Column: column, Problem: "the JSON cannot be read: " + ident.Printable(strings.TrimPrefix(err.Error(), "jsontext: "), 200), Remedy: "correct the JSON"}
	}
	var read func() (*yaml.Node, error)
	read = func() (*yaml.Node, error) {
		n := &yaml.Node{}
		n.Line, n.Column = place(dec.InputOffset())
		token, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		switch kind := token.Kind(); kind {
		case '{', '[':
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
			if kind == '[' {
				n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
			}
			for dec.PeekKind() != '}' && dec.PeekKind() != ']' {
				child, err := read()
				if err != nil {
					return nil, err
				}
				n.Content = append(n.Content, child)
			}
			_, err = dec.ReadToken()
			return n, err
		default:
			n.Kind, n.Value = yaml.ScalarNode, token.String()
			n.Tag = map[jsontext.Kind]string{'"': "!!str", 'n': "!!null", 't': "!!bool", 'f': "!!bool", '0': "!!int"}[kind]
			if _, err := strconv.ParseInt(n.Value, 10, 64); kind == '0' && err != nil {
				n.Tag = "!!float"
			}
			if kind == '"' {
				n.Style = yaml.DoubleQuotedStyle
			}
			return n, nil
		}
	}
	root, err := read()
	if err == nil {
		if _, err = dec.ReadToken(); err == io.EOF {
			return root, nil
		}
		err = fmt.Errorf("there is more after its end")
	}
	return nil, failed(err)
}
