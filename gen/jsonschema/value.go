// Package jsonschema reads JSON Schemas. Start with [Parse], which keeps the order and the digits of a text, and with
// [NewDocument], which finds the parts of a schema: its draft, where a keyword holds schemas, identifiers, and the targets of references.
//
// Everything in it may be hostile: [Parse] bounds size and depth, and no reference is followed out of the document. A reference may
// lead back to where it stands, so whoever follows references bounds how many.
package jsonschema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is the kind of a JSON value.
type Kind byte

// The kinds of JSON values.
const (
	KindNull Kind = iota
	KindBool
	KindNumber
	KindString
	KindArray
	KindObject
)

// String returns the name that JSON Schema has for the kind.
func (k Kind) String() string {
	return [...]string{"null", "boolean", "number", "string", "array", "object"}[k]
}

// Value is one JSON value with what encoding/json would lose: the order of keys, the digits of numbers, and whether a
// string was valid Unicode. The methods accept a nil receiver, which has no members.
type Value struct {
	Kind    Kind
	Text    string // the decoded string, or the number as written
	Bool    bool
	Lossy   bool // text replaces invalid Unicode
	Items   []*Value
	Members []Member // keys are unique

	index map[string]int // of the members of a large object, as it was read
}

// Text returns a string.
func Text(s string) *Value { return &Value{Kind: KindString, Text: s} }

// Truth returns a boolean.
func Truth(b bool) *Value { return &Value{Kind: KindBool, Bool: b} }

// List returns an array.
func List(items ...*Value) *Value { return &Value{Kind: KindArray, Items: items} }

// Record returns an object.
func Record(members ...Member) *Value {
	return &Value{Kind: KindObject, Members: slices.Clone(members)}
}

// Member is one member of an object.
type Member struct {
	Key      string
	Lossy    bool // key replaces invalid Unicode
	Repeated bool // the text has the key several times
	Value    *Value
}

// Get returns the value of a key, or nil if v is not an object or has no such key.
func (v *Value) Get(key string) *Value {
	if v == nil || v.Kind != KindObject {
		return nil
	}
	if v.index != nil {
		if i, ok := v.index[key]; ok {
			return v.Members[i].Value
		}
		return nil
	}
	for i := range v.Members {
		if v.Members[i].Key == key {
			return v.Members[i].Value
		}
	}
	return nil
}

// Set gives a key a value. The members of a parsed object must be changed by Set and Delete only, or in a copy.
func (v *Value) Set(key string, value *Value) {
	v.index = nil
	for i := range v.Members {
		if v.Members[i].Key == key {
			v.Members[i].Value = value
			return
		}
	}
	v.Members = append(v.Members, Member{Key: key, Value: value})
}

// Delete removes keys.
func (v *Value) Delete(keys ...string) {
	v.index = nil
	v.Members = slices.DeleteFunc(v.Members, func(m Member) bool { return slices.Contains(keys, m.Key) })
}

// Without returns a copy of an object without some keys.
func (v *Value) Without(keys ...string) *Value {
	out := Record(v.Members...)
	out.Delete(keys...)
	return out
}

// Sorted returns the members of an object by their keys.
func (v *Value) Sorted() []Member {
	if v == nil {
		return nil
	}
	return slices.SortedFunc(slices.Values(v.Members), func(a, b Member) int { return cmp.Compare(a.Key, b.Key) })
}

// Rat returns the value of a number. It reports false if v is not a number, is longer than 100 characters, or has an exponent longer than
// 4 characters.
func (v *Value) Rat() (*big.Rat, bool) {
	if v == nil || v.Kind != KindNumber || len(v.Text) > 100 {
		return nil, false
	}
	if at := strings.IndexAny(v.Text, "eE"); at >= 0 && len(v.Text)-at > 5 {
		return nil, false
	}
	return new(big.Rat).SetString(v.Text)
}

// Equal reports whether two values are the same apart from the order of keys. Numbers are equal only if they are written alike.
func Equal(a, b *Value) bool {
	if a == b || a == nil || b == nil {
		return a == b
	}
	if a.Kind != b.Kind || a.Text != b.Text || a.Bool != b.Bool || len(a.Members) != len(b.Members) {
		return false
	}
	for _, m := range a.Members {
		if !Equal(m.Value, b.Get(m.Key)) {
			return false
		}
	}
	return slices.EqualFunc(a.Items, b.Items, Equal)
}

// Has reports whether v has any of the keys.
func (v *Value) Has(keys ...string) bool {
	for _, k := range keys {
		if v.Get(k) != nil {
			return true
		}
	}
	return false
}

// Str returns the string at key, or "" if there is none.
func (v *Value) Str(key string) string {
	if s := v.Get(key); s != nil && s.Kind == KindString {
		return s.Text
	}
	return ""
}

// Is reports whether the value at key is the boolean want.
func (v *Value) Is(key string, want bool) bool {
	b := v.Get(key)
	return b != nil && b.Kind == KindBool && b.Bool == want
}

// Number returns the number at key as written, or "" if there is none.
func (v *Value) Number(key string) string {
	if n := v.Get(key); n != nil && n.Kind == KindNumber {
		return n.Text
	}
	return ""
}

// Elements returns the elements of an array, or nil if v is not an array.
func (v *Value) Elements() []*Value {
	if v == nil {
		return nil
	}
	return v.Items
}

// Child returns the member or element that a token of a JSON pointer names, or nil.
func (v *Value) Child(token string) *Value {
	if v == nil || v.Kind != KindArray {
		return v.Get(token)
	}
	if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(v.Items) && strconv.Itoa(i) == token {
		return v.Items[i]
	}
	return nil
}

// Plain returns v as encoding/json decodes it, with numbers as json.Number.
func (v *Value) Plain() any {
	switch v.Kind {
	case KindBool:
		return v.Bool
	case KindNumber:
		return json.Number(v.Text)
	case KindString:
		return v.Text
	case KindArray:
		out := make([]any, len(v.Items))
		for i, item := range v.Items {
			out[i] = item.Plain()
		}
		return out
	case KindObject:
		out := make(map[string]any, len(v.Members))
		for _, m := range v.Members {
			out[m.Key] = m.Value.Plain()
		}
		return out
	}
	return nil
}

// AppendJSON appends v to b as compact JSON.
func (v *Value) AppendJSON(b []byte) []byte {
	switch v.Kind {
	case KindNull:
		return append(b, "null"...)
	case KindBool:
		return strconv.AppendBool(b, v.Bool)
	case KindNumber:
		return append(b, v.Text...)
	case KindString:
		return appendString(b, v.Text)
	case KindArray:
		b = append(b, '[')
		for i, item := range v.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.AppendJSON(b)
		}
		return append(b, ']')
	}
	b = append(b, '{')
	for i, m := range v.Members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, m.Key), ':')
		b = m.Value.AppendJSON(b)
	}
	return append(b, '}')
}

// AppendCanonical appends v to b as RFC 8785 demands, but with numbers as written.
func (v *Value) AppendCanonical(b []byte) []byte {
	switch v.Kind {
	case KindString:
		b, _ = jsontext.AppendQuote(b, v.Text) // invalid UTF-8 was replaced
		return b
	case KindArray:
		b = append(b, '[')
		for i, item := range v.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.AppendCanonical(b)
		}
		return append(b, ']')
	case KindObject:
		b = append(b, '{')
		for i, m := range slices.SortedFunc(slices.Values(v.Members), func(a, b Member) int { return compareUTF16(a.Key, b.Key) }) {
			if i > 0 {
				b = append(b, ',')
			}
			b, _ = jsontext.AppendQuote(b, m.Key)
			b = m.Value.AppendCanonical(append(b, ':'))
		}
		return append(b, '}')
	}
	return v.AppendJSON(b)
}

// compareUTF16 orders strings by their UTF-16 code units (RFC 8785 §3.2.3). It differs from Go's order only where a
// character outside the basic plane meets one in U+E000…U+FFFF.
func compareUTF16(a, b string) int {
	ascii := func(s string) bool { return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) }
	if ascii(a) && ascii(b) {
		return cmp.Compare(a, b)
	}
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// appendString appends a JSON string in which line separators (U+2028 and U+2029) are escaped and HTML is not.
func appendString(b []byte, s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string can always be encoded
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

// Limits bounds a document. A field of zero stands for the default.
type Limits struct {
	Bytes int // 4 MiB by default
	Depth int // of arrays and objects in each other; 64 by default
	Nodes int // values; 10,000 by default
}

// DefaultNodes is the default of limits.nodes.
const DefaultNodes = 10_000

// Unlimited is for documents whose size was bounded before. Nobody nests deeper than 10,000 levels.
var Unlimited = Limits{Bytes: math.MaxInt, Depth: 10_000, Nodes: math.MaxInt}

// LimitError reports a document that exceeds one of its limits.
type LimitError struct {
	TooDeep bool // the depth; otherwise the size
	message string
}

// Error returns a text that continues a sentence that begins with the name of the document.
func (e *LimitError) Error() string { return e.message }

func tooLarge(format string, args ...any) error {
	return &LimitError{message: fmt.Sprintf(format, args...)}
}

// Parse reads one JSON document and keeps its order and digits. Of a repeated key the last value counts, in the place
// of the first. Invalid Unicode is replaced. The error is a *LimitError if the document exceeds a limit; its text
// continues a sentence that begins with the name of the document.
func Parse(raw []byte, limit Limits) (*Value, error) {
	if limit.Bytes == 0 {
		limit.Bytes = 4 << 20
	}
	if limit.Depth == 0 {
		limit.Depth = 64
	}
	if limit.Nodes == 0 {
		limit.Nodes = DefaultNodes
	}
	if len(raw) > limit.Bytes {
		return nil, tooLarge("is %d bytes long, more than %d", len(raw), limit.Bytes)
	}
	p := &parser{limit: limit, tokens: jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	v, err := p.value()
	if err == nil {
		if _, err = p.tokens.ReadToken(); errors.Is(err, io.EOF) {
			return v, nil
		}
	}
	var limited *LimitError
	if errors.As(err, &limited) {
		return nil, err
	}
	return nil, errors.New("is not valid JSON")
}

type parser struct {
	tokens *jsontext.Decoder
	limit  Limits
	nodes  int
}

func (p *parser) value() (*Value, error) {
	if p.nodes++; p.nodes > p.limit.Nodes {
		return nil, tooLarge("holds more than %d values", p.limit.Nodes)
	}
	token, err := p.tokens.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '"':
		text := token.String()
		return &Value{Kind: KindString, Text: text, Lossy: isLossy(text)}, nil
	case '0':
		return &Value{Kind: KindNumber, Text: token.String()}, nil
	case 't', 'f':
		return &Value{Kind: KindBool, Bool: token.Bool()}, nil
	case '[', '{':
		if p.tokens.StackDepth() > p.limit.Depth {
			return nil, &LimitError{TooDeep: true, message: fmt.Sprintf("is nested deeper than %d levels", p.limit.Depth)}
		}
		if token.Kind() == '[' {
			return p.array()
		}
		return p.object()
	}
	return &Value{Kind: KindNull}, nil
}

func (p *parser) array() (*Value, error) {
	v := &Value{Kind: KindArray}
	for p.tokens.PeekKind() != ']' {
		item, err := p.value()
		if err != nil {
			return nil, err
		}
		v.Items = append(v.Items, item)
	}
	_, err := p.tokens.ReadToken()
	return v, err
}

func (p *parser) object() (*Value, error) {
	v := &Value{Kind: KindObject}
	at := map[string]int{}
	for p.tokens.PeekKind() != '}' {
		token, err := p.tokens.ReadToken()
		if err != nil {
			return nil, err
		}
		key := token.String() // before the next read, which overwrites the token
		val, err := p.value()
		if err != nil {
			return nil, err
		}
		if i, repeated := at[key]; repeated {
			v.Members[i].Value, v.Members[i].Repeated = val, true
			continue
		}
		at[key] = len(v.Members)
		v.Members = append(v.Members, Member{Key: key, Lossy: isLossy(key), Value: val})
	}
	if len(v.Members) > 32 {
		v.index = at
	}
	_, err := p.tokens.ReadToken()
	return v, err
}

// isLossy reports whether a decoded string may stand for another one: the decoder writes U+FFFD for invalid UTF-8 and
// for half of a surrogate pair.
func isLossy(s string) bool { return strings.ContainsRune(s, utf8.RuneError) }
