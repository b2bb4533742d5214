package node

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tailscale/hujson"
)

// maxOpen bounds the number of brackets open at one place, including those in strings and comments. The library recurses without a bound of
// its own for nested lists and objects.
const maxOpen = 100_000

// ParseJSON reads JSON with comments and trailing commas.
func (f *File) ParseJSON() (Node, error) {
	if err := f.checkUTF8(); err != nil {
		return Node{}, err
	}
	open := 0
	for _, c := range f.Text {
		switch c {
		case '[', '{':
			open++
		case ']', '}':
			open--
		}
		if open > maxOpen {
			return Node{}, f.ErrorAt(0, "", "lists and objects are nested too deep", "remove what is not a configuration")
		}
	}
	root, err := hujson.Parse(f.Text)
	if err == nil {
		b := jsonBuilder{file: f, lines: NewLineIndex(f.Text)}
		return b.node(root, "")
	}
	// The error is "hujson: line 3, column 5: problem". Only the place is used, because the problem quotes the file.
	var line, column int
	if _, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scanErr != nil {
		line = 0
	}
	return Node{}, f.ErrorAt(line, "", fmt.Sprintf("the JSON cannot be read at column %d", column),
		"look for a missing comma, quote or brace there; comments and trailing commas are fine")
}

// LineIndex holds the offsets of the line breaks in a text.
type LineIndex []int

// NewLineIndex returns the index of a text.
func NewLineIndex(text []byte) LineIndex {
	var ends LineIndex
	for i, c := range text {
		if c == '\n' {
			ends = append(ends, i)
		}
	}
	return ends
}

// Line returns the line of an offset, counted from 1.
func (l LineIndex) Line(offset int) int {
	breaks, _ := slices.BinarySearch(l, offset)
	return breaks + 1
}

type jsonBuilder struct {
	file  *File
	lines LineIndex
}

func (b *jsonBuilder) node(v hujson.Value, path string) (Node, error) {
	n := Node{Line: b.lines.Line(v.StartOffset)}
	switch t := v.Value.(type) {
	case *hujson.Object:
		n.Kind = KindObject
		for _, m := range t.Members {
			lit, _ := m.Name.Value.(hujson.Literal)
			name := lit.String()
			value, err := b.node(m.Value, Join(path, name))
			if err != nil {
				return Node{}, err
			}
			n.Members = append(n.Members, Member{Name: name, Line: b.lines.Line(m.Name.StartOffset), Value: value})
		}
		return n, b.file.checkMembers(n.Members, path)
	case *hujson.Array:
		n.Kind = KindList
		for i, e := range t.Elements {
			item, err := b.node(e, fmt.Sprintf("%s[%d]", path, i))
			if err != nil {
				return Node{}, err
			}
			n.Items = append(n.Items, item)
		}
	case hujson.Literal:
		n.Kind, n.Text = jsonLiteral(t)
	}
	return n, nil
}

func jsonLiteral(lit hujson.Literal) (Kind, string) {
	switch lit.Kind() {
	case '"':
		var s string
		_ = json.Unmarshal(lit, &s) // the parser has accepted it
		return KindString, s
	case '0':
		return KindNumber, string(lit)
	case 't', 'f':
		return KindBool, string(lit)
	}
	return KindNull, ""
}
