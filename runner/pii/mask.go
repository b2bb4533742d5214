package pii

import "strings"

// masker says what is put in the place of what is found.
type masker struct {
	secrets *literals
	// wants tells whether finds of a type are replaced. Nil: all are.
	wants func(Type) bool
	// name returns what stands for a value. number says that the value is a number of JSON, not a text.
	name func(typ Type, value string, number bool) string
	// token returns what stands for a text that looks like a token, or the text itself. Nil: tokens stay.
	token func(text string) string
}

// edit puts another text in the place of a piece of one.
type edit struct {
	start, end int
	text       string
}

// edits are what masking changes in the text of a value or of a member's name; hint is what the name of the member says
// of the value. They are in order and don't overlap.
func (m *masker) edits(text string, hint Type) []edit {
	f := finder{s: text, hint: hint, secrets: m.secrets}
	f.scan()
	if len(f.out) == 0 && m.token == nil {
		return nil
	}
	out := make([]edit, 0, len(f.out))
	at := 0
	for _, found := range f.out {
		if m.wants != nil && !m.wants(found.Type) {
			continue
		}
		out = m.tokens(out, text, at, found.Start)
		out = append(out, edit{found.Start, found.End, m.name(found.Type, text[found.Start:found.End], false)})
		at = found.End
	}
	return m.tokens(out, text, at, len(text))
}

// tokens adds the edits of what looks like a token between start and end.
func (m *masker) tokens(out []edit, text string, start, end int) []edit {
	if m.token == nil {
		return out
	}
	for start < end {
		first, last := nextToken(text[:end], start)
		if first < 0 {
			break
		}
		was := text[first:last]
		if is := m.token(was); is != was {
			out = append(out, edit{first, last, is})
		}
		start = last
	}
	return out
}

// text masks a text. One without a find is returned as it came.
func (m *masker) text(text string, hint Type) string { return apply(text, m.edits(text, hint)) }

// apply makes the edits of a text.
func apply(text string, edits []edit) string {
	if len(edits) == 0 {
		return text
	}
	size := len(text)
	for _, e := range edits {
		size += len(e.text) - (e.end - e.start)
	}
	var b strings.Builder
	b.Grow(size)
	at := 0
	for _, e := range edits {
		b.WriteString(text[at:e.start])
		b.WriteString(e.text)
		at = e.end
	}
	b.WriteString(text[at:])
	return b.String()
}
