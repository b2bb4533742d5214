package soundness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
)

// language writes JSON values as literals of a programming language.
type language struct {
	null, yes, no string
	// integers writes 1.0 as 1. They are the same JSON value, but only 1 is a Python int.
	integers bool
	quote    func(string) string
}

func typeScript() language {
	return language{null: "null", yes: "true", no: "false", quote: quoteUTF16}
}
func python() language {
	return language{null: "None", yes: "True", no: "False", integers: true, quote: quotePython}
}

// literal writes a JSON value as an expression on one line.
func (l language) literal(raw json.RawMessage) (string, error) {
	v, err := decode(raw)
	if err != nil {
		return "", err
	}
	return l.show(v), nil
}

func (l language) show(v any) string {
	switch v := v.(type) {
	case bool:
		if v {
			return l.yes
		}
		return l.no
	case json.Number:
		return l.number(string(v))
	case string:
		return l.quote(v)
	case []any:
		parts := make([]string, len(v))
		for i, item := range v {
			parts[i] = l.show(item)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, l.quote(key)+": "+l.show(v[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return l.null
}

func (l language) number(text string) string {
	if !l.integers || !strings.ContainsAny(text, ".eE") {
		return text
	}
	if r, ok := new(big.Rat).SetString(text); ok && r.IsInt() {
		return r.Num().String()
	}
	return text
}

// quoteUTF16 escapes all characters that are not printable ASCII.
func quoteUTF16(s string) string {
	return quote(s, func(b *strings.Builder, r rune) {
		if r < ' ' || r > '~' {
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(b, `\u%04x`, unit)
			}
			return
		}
		b.WriteRune(r)
	})
}

// quotePython quotes a string as Python's repr does, but always in double quotation marks. It keeps printable characters,
// because pyright treats \U0001f600 and the character itself as different strings.
func quotePython(s string) string {
	return quote(s, func(b *strings.Builder, r rune) {
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			fmt.Fprintf(b, `\U%08x`, r)
		}
	})
}

func quote(s string, write func(b *strings.Builder, r rune)) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if r == '"' || r == '\\' {
			b.WriteByte('\\')
		}
		write(&b, r)
	}
	b.WriteByte('"')
	return b.String()
}

// decode reads one JSON value, numbers as json.Number.
func decode(raw json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("parse value: %w", err)
	}
	return v, nil
}

// encode returns the JSON text of a value, keys sorted.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil { // what decode returns, and what is put together from it, can be encoded
		panic(err)
	}
	return raw
}
