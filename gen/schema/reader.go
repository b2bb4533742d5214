package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds on what is read from a server. A schema beyond them is not understood, rather than worked on.
const (
	maxBytes  = 4 << 20
	maxDepth  = 64
	maxNodes  = 10_000
	maxDigits = 1_000 // of one number

	// Types are made of larger schemas than can be checked: they take time in their size only.
	maxConvertDepth = 256
	maxConvertNodes = 100_000
)

// readError says which bound a document is beyond.
type readError struct {
	code    code
	message string
}

func (e *readError) Error() string { return e.message }

func refuse(kind code, format string, args ...any) error {
	return &readError{kind, fmt.Sprintf(format, args...)}
}

// codeOf returns the code of the note that says why a document could not be read.
func codeOf(err error) code {
	var refused *readError
	if errors.As(err, &refused) {
		return refused.code
	}
	return CodeNotJSON
}

type kind byte

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindString
	kindArray
	kindObject
)

func (k kind) String() string {
	return [...]string{"null", "boolean", "number", "string", "array", "object"}[k]
}

// value is one JSON value with everything that encoding/json would lose: the order of keys, the digits of numbers,
// and whether a string could be kept as it was sent.
type value struct {
	kind    kind
	text    string // of a string, decoded; of a number, as written
	bool    bool
	lossy   bool // text is a string that UTF-8 cannot hold
	items   []*value
	members []member // keys are unique; of a repeated key the last value counts, as in every parser
}

type member struct {
	key   string
	lossy bool // key could not be kept as it was sent
	value *value
}

// get returns the value of a key, nil where v is not an object or has no such key.
func (v *value) get(key string) *value {
	if v == nil || v.kind != kindObject {
		return nil
	}
	for i := range v.members {
		if v.members[i].key == key {
			return v.members[i].value
		}
	}
	return nil
}

// str returns the string at key, "" where there is none.
func (v *value) str(key string) string {
	if s := v.get(key); s != nil && s.kind == kindString {
		return s.text
	}
	return ""
}

// is reports whether the value at key is the boolean want.
func (v *value) is(key string, want bool) bool {
	b := v.get(key)
	return b != nil && b.kind == kindBool && b.bool == want
}

// size is how large a document may be; the zero value of a field is the bound for schemas.
type size struct{ bytes, depth, nodes int }

// parse reads one JSON document, keeping order and digits.
func parse(raw []byte, limit size) (*value, error) {
	if limit.bytes == 0 {
		limit.bytes = maxBytes
	}
	if len(raw) > limit.bytes {
		return nil, refuse(CodeTooLarge, "is %d bytes long, more than %d", len(raw), limit.bytes)
	}
	if !json.Valid(raw) {
		return nil, errors.New("is not valid JSON")
	}
	if limit.depth == 0 {
		limit.depth = maxDepth
	}
	if limit.nodes == 0 {
		limit.nodes = maxNodes
	}
	r := &reader{raw: raw, limit: limit}
	return r.value(0)
}

// reader builds values from JSON that is known to be valid, so that it need not look at what cannot be.
type reader struct {
	raw   []byte
	pos   int
	limit size
	nodes int
}

// next skips white space and what separates values, and returns the byte that is there.
func (r *reader) next() byte {
	for {
		switch c := r.raw[r.pos]; c {
		case ' ', '\t', '\n', '\r', ',', ':':
			r.pos++
		default:
			return c
		}
	}
}

func (r *reader) value(depth int) (*value, error) {
	c := r.next()
	if r.nodes++; r.nodes > r.limit.nodes {
		return nil, refuse(CodeTooLarge, "holds more than %d values", r.limit.nodes)
	}
	switch c {
	case 'n':
		r.pos += len("null")
		return &value{kind: kindNull}, nil
	case 't':
		r.pos += len("true")
		return &value{kind: kindBool, bool: true}, nil
	case 'f':
		r.pos += len("false")
		return &value{kind: kindBool}, nil
	case '"':
		text := r.text()
		return &value{kind: kindString, text: text, lossy: lossy(text)}, nil
	case '[', '{':
		if depth >= r.limit.depth {
			return nil, refuse(CodeTooDeep, "is nested deeper than %d levels", r.limit.depth)
		}
		r.pos++
		if c == '[' {
			return r.array(depth)
		}
		return r.object(depth)
	}
	return &value{kind: kindNumber, text: r.number()}, nil
}

func (r *reader) number() string {
	start := r.pos
	for r.pos < len(r.raw) {
		switch c := r.raw[r.pos]; {
		case '0' <= c && c <= '9', c == '-', c == '+', c == '.', c == 'e', c == 'E':
			r.pos++
			continue
		}
		break
	}
	return string(r.raw[start:r.pos])
}

// text reads the string that begins here.
func (r *reader) text() string {
	start := r.pos
	end := start + 1 + bytes.IndexByte(r.raw[start+1:], '"')
	plain := bytes.IndexByte(r.raw[start+1:end], '\\') < 0
	if !plain { // the quote may be an escaped one
		end = start + 1
		for r.raw[end] != '"' {
			if r.raw[end] == '\\' {
				end++
			}
			end++
		}
	}
	r.pos = end + 1
	if inner := r.raw[start+1 : end]; plain && utf8.Valid(inner) {
		return string(inner)
	}
	var text string
	_ = json.Unmarshal(r.raw[start:r.pos], &text) // it is valid
	return text
}

func (r *reader) array(depth int) (*value, error) {
	v := &value{kind: kindArray}
	for r.next() != ']' {
		item, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		v.items = append(v.items, item)
	}
	r.pos++
	return v, nil
}

// fewMembers is up to how many members an object is searched for one that repeats without a table.
const fewMembers = 8

func (r *reader) object(depth int) (*value, error) {
	v := &value{kind: kindObject}
	var at map[string]int
	for r.next() != '}' {
		key := r.text()
		val, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		i, dup := at[key]
		if at == nil {
			i = slices.IndexFunc(v.members, func(m member) bool { return m.key == key })
			dup = i >= 0
		}
		if dup {
			v.members[i].value = val
			continue
		}
		v.members = append(v.members, member{key: key, lossy: lossy(key), value: val})
		switch n := len(v.members); {
		case n == fewMembers:
			at = make(map[string]int, 4*fewMembers)
			for i, m := range v.members {
				at[m.key] = i
			}
		case n > fewMembers:
			at[key] = n - 1
		}
	}
	r.pos++
	return v, nil
}

// lossy reports whether a decoded string may stand for another one: the decoder puts U+FFFD where it found invalid
// UTF-8 or half of a surrogate pair.
func lossy(s string) bool { return strings.ContainsRune(s, utf8.RuneError) }

// appendJSON appends v as compact JSON.
func (v *value) appendJSON(b []byte) []byte {
	switch v.kind {
	case kindNull:
		return append(b, "null"...)
	case kindBool:
		return fmt.Appendf(b, "%t", v.bool)
	case kindNumber:
		return append(b, v.text...)
	case kindString:
		return appendString(b, v.text)
	case kindArray:
		b = append(b, '[')
		for i, item := range v.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.appendJSON(b)
		}
		return append(b, ']')
	}
	b = append(b, '{')
	for i, m := range v.members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, m.key), ':')
		b = m.value.appendJSON(b)
	}
	return append(b, '}')
}

func appendString(b []byte, s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string in memory always encodes
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}
