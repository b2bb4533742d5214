package pii

import (
	"bytes"
	"encoding/json"
	"strings"
)

// maxNested is how deep JSON inside of strings is read as JSON.
const maxNested = 3

// MaskJSON replaces what is found in the strings of a JSON text, and numbers that are personal data, which become strings. All
// else is copied byte for byte. Names of members are masked too, and tell what their values are. JSON in a string is masked
// as JSON. Raw is returned itself when nothing was found; what is not JSON is masked as text.
func (t *Tokenizer) MaskJSON(raw []byte) []byte {
	if !json.Valid(raw) {
		text := string(raw)
		if masked := t.Mask(text); masked != text {
			return []byte(masked)
		}
		return raw
	}
	m := jsonMasker{t: t, s: string(raw)}
	m.run()
	if m.copied == 0 {
		return raw
	}
	return append(m.out, m.s[m.copied:]...)
}

// jsonMasker goes once over a JSON text that is known to be valid.
type jsonMasker struct {
	t      *Tokenizer
	s      string
	depth  int // how many strings this text is inside of
	out    []byte
	copied int  // how much of s is in out
	hint   Type // what the name of the member being read says
	hints  map[string]Type
}

// maxHints bounds how many names are kept with what they say; the members of records are called the same again and again.
const maxHints = 1000

// says is memberHint with a memory.
func (m *jsonMasker) says(name string) Type {
	hint, ok := m.hints[name]
	if !ok {
		if hint = memberHint(name); m.hints == nil {
			m.hints = map[string]Type{}
		}
		if len(m.hints) < maxHints {
			m.hints[name] = hint
		}
	}
	return hint
}

func (m *jsonMasker) run() {
	for i := 0; i < len(m.s); {
		switch c := m.s[i]; {
		case c == '"':
			i = m.text(i)
		case c == '-' || isDigit(c):
			i = m.number(i)
		case c == '{' || c == '}' || c == ']':
			m.hint = "" // a name goes for a single value, and for the items of a list
			i++
		default:
			i++
		}
	}
}

// text masks the string at i, a value or a member's name, and returns where it ends.
func (m *jsonMasker) text(i int) int {
	end, escaped := stringEnd(m.s, i+1)
	after := end + 1
	for after < len(m.s) && (m.s[after] == ' ' || m.s[after] == '\n' || m.s[after] == '\t' || m.s[after] == '\r') {
		after++
	}
	text := m.s[i+1 : end]
	if escaped {
		var s string
		if json.Unmarshal([]byte(m.s[i:end+1]), &s) != nil {
			return end + 1
		}
		text = s
	}
	if after < len(m.s) && m.s[after] == ':' {
		m.replace(i, end+1, text, m.t.mask(text, ""))
		m.hint = m.says(text)
		return end + 1
	}
	m.replace(i, end+1, text, m.value(text))
	return end + 1
}

// value masks the text of a string.
func (m *jsonMasker) value(text string) string {
	if len(text) > 1 && (text[0] == '{' || text[0] == '[') && m.depth < maxNested && json.Valid([]byte(text)) {
		inner := jsonMasker{t: m.t, s: text, depth: m.depth + 1}
		inner.run()
		if inner.copied == 0 {
			return text
		}
		return string(append(inner.out, inner.s[inner.copied:]...))
	}
	if m.hint == Secret && isSecretValue(text) {
		return m.t.token(Secret, text)
	}
	return m.t.mask(text, m.hint)
}

// number masks the number at i.
func (m *jsonMasker) number(i int) int {
	end := i + 1
	for end < len(m.s) && (isDigit(m.s[end]) || strings.IndexByte("+-.eE", m.s[end]) >= 0) {
		end++
	}
	digits := m.s[i:end]
	if len(digits) < 7 || strings.ContainsAny(digits, "+-.eE") {
		return end
	}
	f := finder{s: digits, hint: m.hint}
	f.scan()
	if len(f.out) == 1 && f.out[0].End-f.out[0].Start == len(digits) {
		m.replace(i, end, digits, m.t.token(f.out[0].Type, digits))
	}
	return end
}

// replace puts a string in the place of what stands from start to end, if it is another.
func (m *jsonMasker) replace(start, end int, was, is string) {
	if was == is {
		return
	}
	m.out = append(m.out, m.s[m.copied:start]...)
	m.copied = end
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(is) // a string cannot fail
	m.out = append(m.out, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// stringEnd returns where the string ends whose text begins at i, and whether it has escapes.
func stringEnd(s string, i int) (end int, escaped bool) {
	for i < len(s) {
		switch s[i] {
		case '"':
			return i, escaped
		case '\\':
			escaped = true
			i++
		}
		i++
	}
	return len(s) - 1, escaped // valid JSON has an end
}
