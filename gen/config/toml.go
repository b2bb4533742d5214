package config

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

// parseTOML reads TOML 1.0.
func (f *file) parseTOML() (node, error) {
	if err := f.checkUTF8(); err != nil {
		return node{}, err
	}
	var root map[string]any
	if err := toml.Unmarshal(f.text, &root); err != nil {
		line := 0
		var bad *toml.DecodeError
		if errors.As(err, &bad) {
			line, _ = bad.Position()
		}
		// The library's own text may quote the file.
		return node{}, f.errorAt(line, "", "the TOML cannot be read", "look for a missing quote or bracket, or a key that is there twice")
	}
	b := tomlBuilder{lines: tomlLines(f.text)}
	return b.node(root, nil, 1), nil
}

// tomlBuilder puts values and places together: the decoder knows the values, the parser below it the places.
type tomlBuilder struct{ lines map[string]int }

const tomlSep = "\x00" // between the parts of a key; no key can hold it

func (b *tomlBuilder) node(v any, path []string, line int) node {
	n := node{line: line}
	if own, ok := b.lines[strings.Join(path, tomlSep)]; ok {
		n.line = own
	}
	switch v := v.(type) {
	case map[string]any:
		n.kind = kindObject
		for name, value := range v {
			child := b.node(value, append(slices.Clone(path), name), n.line)
			n.members = append(n.members, member{name: name, line: child.line, value: child})
		}
		slices.SortFunc(n.members, func(a, b member) int { return cmp.Or(cmp.Compare(a.line, b.line), strings.Compare(a.name, b.name)) })
	case []any:
		n.kind = kindList
		for _, item := range v {
			n.items = append(n.items, b.node(item, path, n.line))
		}
	case string:
		n.kind, n.text = kindString, v
	case bool:
		n.kind, n.text = kindBool, strconv.FormatBool(v)
	case int64:
		n.kind, n.text = kindNumber, strconv.FormatInt(v, 10)
	case float64:
		n.kind, n.text = kindNumber, strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		n.kind, n.text = kindString, v.Format(time.RFC3339Nano)
	default: // local dates and times
		n.kind, n.text = kindString, fmt.Sprint(v)
	}
	return n
}

// tomlLines returns the line of each key, by its whole path. The text is known to be valid.
func tomlLines(text []byte) map[string]int {
	lines := map[string]int{}
	index := newLineIndex(text)
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

// tomlKey notes the lines of a key's parts and returns its whole path.
func tomlKey(p *unstable.Parser, e *unstable.Node, table []string, lines map[string]int, index lineIndex) []string {
	path := slices.Clone(table)
	for it := e.Key(); it.Next(); {
		part := it.Node()
		path = append(path, string(bytes.Clone(part.Data)))
		key := strings.Join(path, tomlSep)
		if _, known := lines[key]; !known {
			lines[key] = index.line(int(part.Raw.Offset))
		}
	}
	return path
}
