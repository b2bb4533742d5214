package pii

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
	"github.com/mcpgen/mcpgen/runner/pii/internal/rawjson"
)

// masker replaces matches in a document.
type masker struct {
	fields *fields
	// learned finds values that fields held before. Nil: none are known.
	learned *learned
	// restored are replaced wherever they stand.
	restored *Restored
	// wants reports whether matches of a type are replaced. Nil: all are.
	wants func(Type) bool
	// token returns the token of a value.
	token func(Type, value) string
	// lookalike returns the token for a text that looks like a token, or the text itself. Nil: such texts are kept.
	lookalike func(value) string
	// own means that texts which look like tokens are tokens already, which no value contains.
	own bool
	// detected returns what a detector found in a text; ok is false if the text must not be shown. Nil: there is no detector.
	detected func(text string) (found []detect.Match, ok bool)
}

// without returns a masker that replaces only texts which look like tokens.
func (m *masker) without() *masker {
	return &masker{fields: &noFields, wants: func(Type) bool { return false }, token: m.token, lookalike: m.lookalike, restored: m.restored, own: m.own}
}

// value is what a token stands for.
type value struct {
	text   string // decoded
	number bool   // it is a JSON number
	source string // as the document writes it, if unusual
	depth  int    // number of JSON strings around the source
	field  bool   // it is all that a field holds
}

// value returns the value from start to end.
func (s *span) value(start, end int) value {
	v := value{text: s.text[start:end]}
	if source := s.source(start, end); s.depth > 0 && source != s.escaped(v.text) {
		v.source, v.depth = source, s.depth
	}
	return v
}

// json replaces matches in a span of valid JSON: in its strings and names of members, and whole numbers.
func (m *masker) json(s *span) {
	s.walk(m.fields, func(l literal, h hint) {
		switch {
		case !l.isString():
			m.number(l, h)
		case l.isName:
			in := l.text()
			m.replace(in, m.find(in.text, ""), never)
		default:
			m.text(l.text(), h)
		}
	})
}

// text replaces matches in a span that may itself be JSON. The hint comes from the member whose value it is.
func (m *masker) text(s *span, h hint) {
	switch {
	case h.set && h.typ == "":
		m.without().text(s, hint{})
		return
	case h.set && m.isWanted(h.typ) && strings.TrimSpace(s.text) != "":
		m.replace(s, []detect.Match{{Start: 0, End: len(s.text), Type: h.typ}}, always)
		return
	case s.isJSON():
		m.json(s)
		return
	case h.typ == detect.Secret && detect.IsSecretValue(s.text) && m.isWanted(detect.Secret):
		m.replace(s, []detect.Match{{Start: 0, End: len(s.text), Type: detect.Secret}}, always)
		return
	}
	had := len(s.doc.edits)
	var was, is []string // the JSON in it, and the pieces of the text with tokens
	s.eachPart(func(in *span) {
		matches := m.plain(in, h.typ)
		if m.lookalike != nil {
			is = append(is, withTokens(in.text, matches))
		}
	}, func(in *span) {
		m.json(in)
		was, is = append(was, in.text), append(is, in.text)
	})
	if m.lookalike == nil || len(s.doc.edits) == had || s.depth > maxNested {
		return
	}
	// Tokens must not turn text that is not JSON into JSON, because restoring would read it differently.
	text, read := strings.Join(is, ""), []string(nil)
	for _, p := range rawjson.Parts(text) {
		read = append(read, text[p.Start:p.End])
	}
	if !slices.Equal(was, read) {
		s.doc.edits = s.doc.edits[:had]
		m.replace(s, []detect.Match{{Start: 0, End: len(s.text), Type: detect.Secret}}, never)
	}
}

// withTokens returns a text with a token for each match.
func withTokens(text string, matches []detect.Match) string {
	var edits []edit
	for _, m := range matches {
		edits = append(edits, edit{m.Start, m.End, "[X_1]"})
	}
	return apply(text, edits)
}

// plain replaces matches in a span without JSON, and returns them.
func (m *masker) plain(s *span, field Type) []detect.Match {
	matches := m.find(s.text, field)
	isField := field != "" && len(matches) == 1 && matches[0].End-matches[0].Start == len(strings.TrimSpace(s.text))
	if m.detected != nil {
		found, ok := m.detected(s.text)
		if !ok {
			s.replace(0, len(s.text), unchecked)
			return nil
		}
		matches = union(matches, found)
	}
	if isField {
		return m.replace(s, matches, always)
	}
	return m.replace(s, matches, isCell(s.text, matches))
}

// isCell returns what reports whether a match is a cell of a table whose column has a name that says its type. The columns of a table are fields
// like the members of an object.
func isCell(text string, matches []detect.Match) func(detect.Match) bool {
	if len(matches) == 0 {
		return never
	}
	cells := detect.Cells(text)
	return func(m detect.Match) bool {
		i, _ := slices.BinarySearchFunc(cells, m.Start, func(cell detect.Match, start int) int { return cmp.Compare(cell.Start, start) })
		return i < len(cells) && cells[i] == m
	}
}

func never(detect.Match) bool { return false }

func always(detect.Match) bool { return true }

// number replaces a number that is personal data by a string.
func (m *masker) number(l literal, h hint) {
	digits := l.span.text[l.start:l.end]
	typ := h.typ
	if !h.set {
		typ = numberType(digits, h.typ)
	}
	if typ == "" && !h.set || typ != "" && !m.isWanted(typ) {
		typ = m.knownNumber(digits)
	}
	if typ != "" {
		v := l.span.value(l.start, l.end)
		v.number, v.field = true, true
		l.span.replace(l.start, l.end, `"`+m.token(typ, v)+`"`)
	}
}

// knownNumber returns the type of a number that was restored, or that a field held before, or "".
func (m *masker) knownNumber(digits string) Type {
	if len(digits) < minNumber {
		return ""
	}
	if typ := wholeType(digits, m.restored.find(digits)); typ != "" || m.learned == nil || m.fields == &noFields {
		return typ
	}
	if typ := wholeType(digits, m.learned.find(digits)); typ != "" && m.isWanted(typ) {
		return typ
	}
	return ""
}

// wholeType returns the type of a match that is all of a text, or "".
func wholeType(text string, matches []detect.Match) Type {
	if len(matches) == 1 && matches[0].End-matches[0].Start == len(text) {
		return matches[0].Type
	}
	return ""
}

const minNumber = 7 // digits of the shortest phone number

// numberType returns the type of a number that is personal data as a whole, or "".
func numberType(digits string, field Type) Type {
	if len(digits) < minNumber || strings.Trim(digits, "0123456789") != "" {
		return ""
	}
	return wholeType(digits, detect.Find(digits, field))
}

func (m *masker) isWanted(t Type) bool { return m.wants == nil || m.wants(t) }

// find returns the matches of the wanted types.
func (m *masker) find(text string, field Type) []detect.Match {
	if m.fields == &noFields {
		return m.restored.find(text)
	}
	matches := detect.Find(text, field)
	if m.own && field != "" && len(matches) == 1 {
		if start, end := anyToken(text, 0); start >= matches[0].Start && end <= matches[0].End {
			matches = detect.Find(text, "") // it was masked before, so it is no longer a name or an address as a whole
		}
	}
	if m.learned != nil {
		matches = union(matches, m.learned.find(text))
	}
	if m.restored != nil {
		matches = union(matches, m.restored.find(text))
	}
	if m.wants == nil {
		return matches
	}
	wanted := matches[:0]
	for _, match := range matches {
		if m.wants(match.Type) {
			wanted = append(wanted, match)
		}
	}
	return wanted
}

// union returns the matches of two lists in order, without overlaps.
func union(a, b []detect.Match) []detect.Match {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	return inOrder(slices.Concat(a, b))
}

// inOrder sorts matches and removes overlaps: of two that overlap, it keeps the longer one and the rest of the other.
func inOrder(all []detect.Match) []detect.Match {
	slices.SortStableFunc(all, func(a, b detect.Match) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End)) })
	out := all[:0]
	for _, m := range all {
		if len(out) > 0 {
			last := &out[len(out)-1]
			switch {
			case m.End <= last.End:
				continue
			case m.Start < last.End && m.End-m.Start > last.End-last.Start:
				last.End = m.Start
			default:
				m.Start = max(m.Start, last.End)
			}
		}
		out = append(out, m)
	}
	return out
}

// outside returns the parts of matches that are not in tokens.
func outside(text string, matches []detect.Match) []detect.Match {
	first, last := anyToken(text, 0)
	if first < 0 {
		return matches
	}
	var out []detect.Match
	keep := func(start, end int, typ Type) {
		if start < end {
			const blank = " .,;:-\t\r\n"
			left := strings.TrimLeft(text[start:end], blank)
			if kept := strings.TrimRight(left, blank); kept != "" {
				start = end - len(left)
				out = append(out, detect.Match{Start: start, End: start + len(kept), Type: typ})
			}
		}
	}
	for _, m := range matches {
		for first >= 0 && last <= m.Start {
			first, last = anyToken(text, last)
		}
		if first < 0 || first >= m.End {
			out = append(out, m)
			continue
		}
		for first >= 0 && first < m.End {
			keep(m.Start, first, m.Type)
			m.Start = last
			if last > m.End {
				break
			}
			first, last = anyToken(text, last)
		}
		keep(m.Start, m.End, m.Type)
	}
	return out
}

// replace replaces matches by tokens, and also texts between them that look like tokens. It returns the matches that it replaced. isField
// reports whether a match is all that a field holds.
func (m *masker) replace(s *span, matches []detect.Match, isField func(detect.Match) bool) []detect.Match {
	if m.own {
		matches = outside(s.text, matches)
	}
	at := 0
	for _, match := range matches {
		m.lookalikes(s, at, match.Start)
		v := s.value(match.Start, match.End)
		v.field = isField(match)
		s.replace(match.Start, match.End, m.token(match.Type, v))
		at = match.End
	}
	m.lookalikes(s, at, len(s.text))
	return matches
}

// lookalikes replaces texts that look like tokens from start to end.
func (m *masker) lookalikes(s *span, start, end int) {
	if m.lookalike == nil {
		return
	}
	for start < end {
		first, last := nextToken(s.text[:end], start)
		if first < 0 {
			return
		}
		if token := m.lookalike(s.value(first, last)); token != s.text[first:last] {
			s.replace(first, last, token)
		}
		start = last
	}
}
