package node

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tailscale/hujson"
)

// MaxDepth bounds the nesting of lists and objects. The library recurses and has no bound of its own.
const MaxDepth = 500

// ParseJSON reads JSON with comments and trailing commas.
func (f *File) ParseJSON() (Node, error) {
	if err := f.checkUTF8(); err != nil {
		return Node{}, err
	}
	if line := tooDeep(f.Text); line > 0 {
		return Node{}, f.ErrorAt(line, "", fmt.Sprintf("lists and objects are nested more than %d deep", MaxDepth), "remove what is not a configuration")
	}
	root, err := hujson.Parse(f.Text)
	if err == nil {
		b := jsonBuilder{file: f, lines: NewLineIndex(f.Text)}
		return b.node(root, "")
	}
	// The error is "hujson: line 3, column 5: problem". Only the place is kept, since the problem quotes the file.
	var line, column int
	if _, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scanErr != nil {
		line = 0
	}
	return Node{}, f.ErrorAt(line, "", fmt.Sprintf("the JSON cannot be read at column %d", column),
		"look for a missing comma, quote or brace there; comments and trailing commas are fine")
}

// tooDeep returns the line where the nesting exceeds MaxDepth, or 0.
func tooDeep(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '[', '{':
			if depth++; depth > MaxDepth {
				return 1 + bytes.Count(text[:i], []byte("\n"))
			}
		case ']', '}':
			depth--
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '/':
			i = commentEnd(text, i)
		}
	}
	return 0
}

// commentEnd returns the index of the last byte of the comment that begins at i, or i if none does.
func commentEnd(text []byte, i int) int {
	rest := text[i:]
	end := -1
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		end = bytes.IndexByte(rest, '\n')
	case bytes.HasPrefix(rest, []byte("/*")):
		if end = bytes.Index(rest[2:], []byte("*/")); end >= 0 {
			end += 3
		}
	default:
		return i
	}
	if end < 0 {
		return len(text)
	}
	return i + end
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
		_ = json.Unmarshal(lit, &s) // the parser accepted it
		return KindString, s
	case '0':
		return KindNumber, string(lit)
	case 't', 'f':
		return KindBool, string(lit)
	}
	return KindNull, ""
}
