package pii

import (
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
	m := jsonMasker{masker: t.masker(), s: string(raw)}
	return m.mask(raw)
}

// jsonMasker goes once over a JSON text that is known to be valid.
type jsonMasker struct {
	*masker
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

// mask returns raw, whose text is m.s, with what is found replaced, or raw itself.
func (m *jsonMasker) mask(raw []byte) []byte {
	m.run()
	if m.copied == 0 {
		return raw
	}
	return m.done()
}

// done returns the text with what was put into it.
func (m *jsonMasker) done() []byte { return append(m.out, m.s[m.copied:]...) }

func (m *jsonMasker) run() {
	for i := 0; i < len(m.s); {
		switch c := m.s[i]; {
		case c == '"':
			i = m.string(i)
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

// string masks the string at i, a value or a member's name, and returns where it ends.
func (m *jsonMasker) string(i int) int {
	end, escaped := stringEnd(m.s, i+1)
	after := end + 1
	for after < len(m.s) && isSpace(m.s[after]) {
		after++
	}
	raw := m.s[i+1 : end]
	text := raw
	if escaped {
		text = unescape(raw, nil)
	}
	if after < len(m.s) && m.s[after] == ':' {
		m.change(i+1, raw, escaped, m.edits(text, ""))
		m.hint = m.says(text)
		return end + 1
	}
	m.change(i+1, raw, escaped, m.value(text))
	return end + 1
}

// value are the edits of the text of a string.
func (m *jsonMasker) value(text string) []edit {
	if isNested(text, m.depth) {
		inner := jsonMasker{masker: m.masker, s: text, depth: m.depth + 1}
		return whole(text, string(inner.mask([]byte(text))))
	}
	if m.hint == Secret && isSecretValue(text) && (m.wants == nil || m.wants(Secret)) {
		return whole(text, m.name(Secret, text, false))
	}
	edits := m.edits(text, m.hint)
	if len(edits) > 0 && m.token != nil && isNested(apply(text, edits), m.depth) {
		// It would be taken for JSON when it is turned back, which it was not.
		return whole(text, m.name(Secret, text, false))
	}
	return edits
}

// whole is the edit of a whole text, if it is another.
func whole(was, is string) []edit {
	if was == is {
		return nil
	}
	return []edit{{0, len(was), is}}
}

// isNested tells whether the text of a string is read as JSON: an object or a list, not too many strings deep.
func isNested(text string, depth int) bool {
	i := 0
	for i < len(text) && isSpace(text[i]) {
		i++
	}
	return i+1 < len(text) && (text[i] == '{' || text[i] == '[') && depth < maxNested && json.Valid([]byte(text))
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

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
	if len(f.out) == 1 && f.out[0].End-f.out[0].Start == len(digits) && (m.wants == nil || m.wants(f.out[0].Type)) {
		m.put(i, end, `"`+m.name(f.out[0].Type, digits, true)+`"`)
	}
	return end
}

// change makes edits of the text of a string, which stands at i as raw. What is not edited stays as it is written.
func (m *jsonMasker) change(i int, raw string, escaped bool, edits []edit) {
	if len(edits) == 0 {
		return
	}
	var places []int // of the bytes of the text, in raw
	if escaped {
		unescape(raw, &places)
	}
	for _, e := range edits {
		if escaped {
			e.start, e.end = places[e.start], places[e.end]
		}
		m.put(i+e.start, i+e.end, escape(e.text))
	}
}

// put writes a text in the place of what stands from start to end.
func (m *jsonMasker) put(start, end int, text string) {
	if m.out == nil {
		m.out = make([]byte, 0, len(m.s)+len(text))
	}
	m.out = append(m.out, m.s[m.copied:start]...)
	m.out = append(m.out, text...)
	m.copied = end
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
