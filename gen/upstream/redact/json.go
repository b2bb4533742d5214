package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpgen/mcpgen/gen/upstream/internal/rawjson"
)

// ConcealJSON applies [Redactor.Conceal] to the strings of a JSON text, whatever their escapes, and keeps every other
// byte. It also keeps member names and values that a schema compares with, because calls send them.
func (r *Redactor) ConcealJSON(raw json.RawMessage) json.RawMessage {
	if !r.conceals() {
		return raw
	}
	var (
		out    []byte
		copied int            // raw[:copied] is in out
		keys   = []string{""} // of the objects and arrays around the value, the innermost last
		d      = rawjson.Decoder(raw)
	)
	for {
		before := int(d.InputOffset())
		token, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return append(out, raw[copied:]...)
		} else if err != nil { // not JSON, so it is only text
			return append(out, r.Conceal(string(raw[copied:]))...)
		}
		switch token.Kind() {
		case '{':
			keys = append(keys, "")
		case '[':
			keys = append(keys, keys[len(keys)-1]) // its strings belong to its own key
		case '}', ']':
			keys = keys[:len(keys)-1]
		case '"':
			text := token.String()
			if isName(d) {
				keys[len(keys)-1] = text
				continue
			}
			clean := r.Conceal(text)
			if clean == text || comparing(keys[len(keys)-1]) {
				continue
			}
			out = append(out, raw[copied:before+bytes.IndexByte(raw[before:], '"')]...)
			out, _ = jsontext.AppendQuote(out, clean) // the error says that invalid UTF-8 was replaced
			copied = int(d.InputOffset())
		}
	}
}

// isName reports whether the token just read is the name of an object's member.
func isName(d *jsontext.Decoder) bool {
	kind, length := d.StackIndex(d.StackDepth())
	return kind == '{' && length%2 == 1
}

// comparing reports whether the strings at a key name something or are compared with values.
func comparing(key string) bool {
	switch key {
	case "name", "type", "enum", "const", "required", "pattern", "format",
		"$ref", "$dynamicRef", "$schema", "$id", "$anchor", "$dynamicAnchor":
		return true
	}
	return false
}
