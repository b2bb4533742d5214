package pii

import "github.com/mcpgen/mcpgen/runner/pii/detect"

// masker replaces matches in a document.
type masker struct {
	fields fieldHints
	// wants reports whether matches of a type are replaced. Nil: all are.
	wants func(Type) bool
	// token returns the token of a value.
	token func(Type, value) string
	// lookalike returns the token for a text that looks like a token, or the text itself. Nil: such texts are kept.
	lookalike func(text string) string
}

// value is what a token stands for.
type value struct {
	text   string // decoded
	number bool   // it is a JSON number
	source string // as the document writes it, if unusual
	depth  int    // number of JSON strings around the source
}

// json replaces matches in a span of valid JSON: in its strings and names of members, and whole numbers.
func (m *masker) json(s *span) {
	s.walk(m.fields, func(l literal, hint detect.Type) {
		switch {
		case !l.isString():
			m.number(l, hint)
		case l.isName:
			in := l.text()
			m.replace(in, m.find(in.text, ""))
		default:
			m.text(l.text(), hint)
		}
	})
}

// text replaces matches in a span that may itself be JSON. The hint comes from the member whose value it is.
func (m *masker) text(s *span, hint detect.Type) {
	if s.isJSON() {
		m.json(s)
		return
	}
	if hint == detect.Secret && detect.IsSecretValue(s.text) && m.isWanted(detect.Secret) {
		m.replace(s, []detect.Match{{Start: 0, End: len(s.text), Type: detect.Secret}})
		return
	}
	matches := m.find(s.text, hint)
	had := len(s.doc.edits)
	m.replace(s, matches)
	if m.lookalike == nil || len(s.doc.edits) == had || s.depth > maxNested {
		return
	}
	// Tokens must not turn text that is not JSON into JSON, because restoring would read it differently.
	local := make([]edit, 0, len(matches))
	for _, match := range matches {
		local = append(local, edit{match.Start, match.End, "[X_1]"})
	}
	if isContainer(apply(s.text, local)) {
		s.doc.edits = s.doc.edits[:had]
		m.replace(s, []detect.Match{{Start: 0, End: len(s.text), Type: detect.Secret}})
	}
}

// number replaces a number that is personal data by a string.
func (m *masker) number(l literal, hint detect.Type) {
	digits := l.span.text[l.start:l.end]
	if len(digits) < minNumber {
		return
	}
	for i := range len(digits) {
		if digits[i]-'0' > 9 {
			return
		}
	}
	matches := detect.Find(digits, hint)
	if len(matches) == 1 && matches[0].End-matches[0].Start == len(digits) && m.isWanted(matches[0].Type) {
		l.span.replace(l.start, l.end, `"`+m.token(matches[0].Type, value{text: digits, number: true})+`"`)
	}
}

const minNumber = 7 // digits of the shortest phone number

func (m *masker) isWanted(t Type) bool { return m.wants == nil || m.wants(t) }

// find returns the matches of the wanted types.
func (m *masker) find(text string, hint detect.Type) []detect.Match {
	matches := detect.Find(text, hint)
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

// replace replaces matches by tokens, and also texts between them that look like tokens.
func (m *masker) replace(s *span, matches []detect.Match) {
	at := 0
	for _, match := range matches {
		m.lookalikes(s, at, match.Start)
		v := value{text: s.text[match.Start:match.End]}
		if source := s.source(match.Start, match.End); s.depth > 0 && source != s.escaped(v.text) {
			v.source, v.depth = source, s.depth
		}
		s.replace(match.Start, match.End, m.token(match.Type, v))
		at = match.End
	}
	m.lookalikes(s, at, len(s.text))
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
		was := s.text[first:last]
		if token := m.lookalike(was); token != was {
			s.replace(first, last, token)
		}
		start = last
	}
}
