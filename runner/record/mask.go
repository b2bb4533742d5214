package record

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/mcpgen/mcpgen/runner/call"
)

// Mask removes from texts and JSON what must not be written to a file. A nil field removes nothing. Masking must be idempotent, because a
// replay masks the arguments that it compares.
type Mask struct {
	// Text removes secrets from a text. It is given JSON strings decoded.
	Text func(string) string
	// JSON removes personal data from a JSON text. The result must be JSON.
	JSON func([]byte) []byte
}

// Value masks one JSON value.
func (m *Mask) Value(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	if m.Text != nil {
		raw = mapStrings(raw, m.Text)
	}
	if m.JSON != nil {
		raw = m.JSON(raw)
	}
	return raw
}

// String masks one string.
func (m *Mask) String(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		return ""
	}
	var out string
	if json.Unmarshal(m.Value(raw), &out) != nil {
		return ""
	}
	return out
}

// error returns a masked copy of an error.
func (m *Mask) error(e *call.Error) *call.Error {
	masked := *e
	masked.Message, masked.Content, masked.Data = m.String(e.Message), m.Value(e.Content), m.Value(e.Data)
	masked.Tool = m.String(e.Tool)
	masked.Cause = nil
	return &masked
}

// mapStrings applies f to every string of a valid JSON text, including names of members, and keeps the rest unchanged.
func mapStrings(raw []byte, f func(string) string) []byte {
	var out []byte
	copied := 0
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			continue
		}
		end := stringEnd(raw, i)
		var text string
		if err := json.Unmarshal(raw[i:end], &text); err == nil {
			if changed := f(text); changed != text {
				out = append(append(out, raw[copied:i]...), quoted(changed)...)
				copied = end
			}
		}
		i = end - 1
	}
	if copied == 0 {
		return raw
	}
	return append(out, raw[copied:]...)
}

// stringEnd returns the index after the string that begins at i.
func stringEnd(raw []byte, i int) int {
	for j := i + 1; j < len(raw); j++ {
		switch raw[j] {
		case '\\':
			j++
		case '"':
			return j + 1
		}
	}
	return len(raw)
}

// quoted returns a string as JSON, without escapes for HTML.
func quoted(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// token matches the replacement of removed text in a recording: [EMAIL_1], or a variable's name in brackets.
var token = regexp.MustCompile(`\[[A-Za-z_.][A-Za-z0-9_. -]*\]`)

// pattern is a recorded JSON text in which each token matches any part of a string. What a token has replaced is unknown, and in another
// run the same value may have another token, or none if the variable is not set.
type pattern struct{ parts []string } // the texts between the tokens

func newPattern(recorded string) pattern {
	var parts []string
	begin := 0
	for _, at := range token.FindAllStringIndex(recorded, -1) {
		switch recorded[at[0]:at[1]] {
		case "[true]", "[false]", "[null]": // lists
			continue
		}
		parts = append(parts, recorded[begin:at[0]])
		begin = at[1]
	}
	return pattern{parts: append(parts, recorded[begin:])}
}

// matches reports whether text may be the text that was recorded.
func (p pattern) matches(text string) bool {
	first, last := p.parts[0], p.parts[len(p.parts)-1]
	if len(p.parts) == 1 {
		return text == first
	}
	rest, ok := strings.CutPrefix(text, first)
	if !ok {
		return false
	}
	for _, part := range p.parts[1 : len(p.parts)-1] {
		i := strings.Index(rest, part)
		if i < 0 || !inString(rest[:i]) {
			return false
		}
		rest = rest[i+len(part):]
	}
	hidden, ok := strings.CutSuffix(rest, last)
	return ok && inString(hidden)
}

// inString reports whether text, which begins inside a JSON string, stays inside it.
func inString(text string) bool {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return false
		}
	}
	return true
}
