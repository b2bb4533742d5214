package config

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tailscale/hujson"
)

// maxDepth bounds how deep lists and objects may lie in each other; the parser is recursive and has no bound of its own.
const maxDepth = 500

// parseJSON reads JSON with comments and trailing commas.
func (f *file) parseJSON() (node, error) {
	if err := f.checkUTF8(); err != nil {
		return node{}, err
	}
	if line := tooDeep(f.text); line > 0 {
		return node{}, f.errorAt(line, "", fmt.Sprintf("lists and objects are nested more than %d deep", maxDepth), "remove what is not a configuration")
	}
	root, err := hujson.Parse(f.text)
	if err == nil {
		b := jsonBuilder{file: f, lines: newLineIndex(f.text)}
		return b.node(root, "")
	}
	// The library says "hujson: line 3, column 5: what"; only what it says about the place is kept, since its text
	// quotes the file.
	var line, column int
	if _, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scanErr != nil {
		line = 0
	}
	return node{}, f.errorAt(line, "", fmt.Sprintf("the JSON cannot be read at column %d", column),
		"look for a missing comma, quote or brace there; comments and trailing commas are fine")
}

// tooDeep returns the line where the nesting passes maxDepth, or 0.
func tooDeep(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '[', '{':
			if depth++; depth > maxDepth {
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

// commentEnd returns the last byte of the comment that begins at i, or i where none does.
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

// lineIndex finds the line of an offset without counting from the start each time.
type lineIndex []int

func newLineIndex(text []byte) lineIndex {
	var ends lineIndex
	for i, c := range text {
		if c == '\n' {
			ends = append(ends, i)
		}
	}
	return ends
}

func (l lineIndex) line(offset int) int {
	low, high := 0, len(l)
	for low < high {
		mid := (low + high) / 2
		if l[mid] < offset {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low + 1
}

type jsonBuilder struct {
	file  *file
	lines lineIndex
}

func (b *jsonBuilder) node(v hujson.Value, path string) (node, error) {
	n := node{line: b.lines.line(v.StartOffset), start: v.StartOffset, end: v.EndOffset}
	switch t := v.Value.(type) {
	case *hujson.Object:
		n.kind = kindObject
		for _, m := range t.Members {
			lit, _ := m.Name.Value.(hujson.Literal)
			name := lit.String()
			value, err := b.node(m.Value, join(path, name))
			if err != nil {
				return node{}, err
			}
			n.members = append(n.members, member{name: name, line: b.lines.line(m.Name.StartOffset), start: m.Name.StartOffset, value: value})
		}
		return n, b.file.checkMembers(n.members, path)
	case *hujson.Array:
		n.kind = kindList
		for i, e := range t.Elements {
			item, err := b.node(e, fmt.Sprintf("%s[%d]", path, i))
			if err != nil {
				return node{}, err
			}
			n.items = append(n.items, item)
		}
	case hujson.Literal:
		n.kind, n.text = jsonLiteral(t)
	}
	return n, nil
}

func jsonLiteral(lit hujson.Literal) (kind, string) {
	switch lit.Kind() {
	case '"':
		var s string
		_ = json.Unmarshal(lit, &s) // the parser accepted it
		return kindString, s
	case '0':
		return kindNumber, string(lit)
	case 't', 'f':
		return kindBool, string(lit)
	}
	return kindNull, ""
}
