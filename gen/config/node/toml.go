package node

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// ParseTOML reads TOML 1.0.
func (f *File) ParseTOML() (Node, error) {
	if err := f.checkUTF8(); err != nil {
		return Node{}, err
	}
	var root map[string]any
	if err := toml.Unmarshal(f.Text, &root); err != nil {
		line := 0
		var bad *toml.DecodeError
		if errors.As(err, &bad) {
			line, _ = bad.Position()
		}
		// The text of the library's error may quote the file.
		return Node{}, f.ErrorAt(line, "", "the TOML cannot be read", "look for a missing quote or bracket, or a key that is there twice")
	}
	b := tomlBuilder{lines: tomlLines(f.Text)}
	return b.node(root, nil, 1), nil
}

// tomlBuilder combines the decoder's values with the parser's places.
type tomlBuilder struct{ lines map[string]int }

const tomlSep = "\x00" // separates the parts of a key; no key can contain it

func (b *tomlBuilder) node(v any, path []string, line int) Node {
	n := Node{Line: line}
	if own, ok := b.lines[strings.Join(path, tomlSep)]; ok {
		n.Line = own
	}
	switch v := v.(type) {
	case map[string]any:
		n.Kind = KindObject
		for name, value := range v {
			child := b.node(value, append(slices.Clone(path), name), n.Line)
			n.Members = append(n.Members, Member{Name: name, Line: child.Line, Value: child})
		}
		slices.SortFunc(n.Members, func(a, b Member) int { return cmp.Or(cmp.Compare(a.Line, b.Line), strings.Compare(a.Name, b.Name)) })
	case []any:
		n.Kind = KindList
		for _, item := range v {
			n.Items = append(n.Items, b.node(item, path, n.Line))
		}
	case string:
		n.Kind, n.Text = KindString, v
	case bool:
		n.Kind, n.Text = KindBool, strconv.FormatBool(v)
	case int64:
		n.Kind, n.Text = KindNumber, strconv.FormatInt(v, 10)
	case float64:
		n.Kind, n.Text = KindNumber, strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		n.Kind, n.Text = KindString, v.Format(time.RFC3339Nano)
	default: // local dates and times
		n.Kind, n.Text = KindString, fmt.Sprint(v)
	}
	return n
}

// tomlLines returns the line of each key by its full path. The text must be valid.
func tomlLines(text []byte) map[string]int {
	lines := map[string]int{}
	index := NewLineIndex(text)
	var p unstable.Parser
	p.Reset(text)
	var table []string
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = tomlKey(&p, e, nil, lines, index)
		case unstable.KeyValue:
			tomlKey(&p, e, table, lines, index)
		}
	}
	return lines
}

// tomlKey records the lines of a key's parts and returns its full path.
func tomlKey(p *unstable.Parser, e *unstable.Node, table []string, lines map[string]int, index LineIndex) []string {
	path := slices.Clone(table)
	for it := e.Key(); it.Next(); {
		part := it.Node()
		path = append(path, string(bytes.Clone(part.Data)))
		key := strings.Join(path, tomlSep)
		if _, known := lines[key]; !known {
			lines[key] = index.Line(int(part.Raw.Offset))
		}
	}
	return path
}
