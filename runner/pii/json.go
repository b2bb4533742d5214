package pii

import (
	"encoding/json"
	"strings"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
	"github.com/mcpgen/mcpgen/runner/pii/internal/rawjson"
)

// maxNested is the depth to which JSON in strings is read as JSON.
const maxNested = 3

// document is a text with pieces to replace. Edits are offsets in the outermost text, however deep in strings of JSON a piece is, so that
// all other bytes stay as they are.
type document struct {
	text  string
	edits []edit
}

// newDocument returns a document and the span that covers it.
func newDocument(text string) (*document, *span) {
	d := &document{text: text}
	return d, &span{doc: d, text: text}
}

// edit replaces the bytes from start to end.
type edit struct {
	start, end int
	text       string
}

// apply returns the text with its edits, or the text itself if there are none.
func (d *document) apply() string { return apply(d.text, d.edits) }

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

// span is a text in a document: the document's own text, or the content of a JSON string in it.
type span struct {
	doc     *document
	text    string // decoded
	depth   int    // number of strings around it
	outer   *span
	inner   *span        // reused for each string in it
	at      int          // offset of its first byte in the outer span
	raw     string       // the text with its escapes; empty if it has none
	offsets []int        // offsets in raw of the bytes of text; filled when origin first needs them
	signs   detect.Signs // of the objects in it, from their container
}

// inside returns the span of the string literal whose text is from start to end. It is valid until the next call.
func (s *span) inside(start, end int, escaped bool) *span {
	if s.inner == nil {
		s.inner = &span{doc: s.doc, depth: s.depth + 1, outer: s}
	}
	in := s.inner
	in.text, in.raw, in.offsets, in.at = s.text[start:end], "", nil, start
	if escaped {
		in.raw = in.text
		in.text = rawjson.Unescape(in.raw, nil)
	}
	return in
}

// part returns the span of a part of the text.
func (s *span) part(start, end int) *span {
	return &span{doc: s.doc, text: s.text[start:end], depth: s.depth, outer: s, at: start, signs: s.signs}
}

// eachPart calls text for the parts of the span that are text, and json for those that are JSON, in order.
func (s *span) eachPart(text, json func(*span)) {
	at := 0
	if s.depth <= maxNested {
		for _, p := range rawjson.Parts(s.text) {
			if at < p.Start {
				text(s.part(at, p.Start))
			}
			json(s.part(p.Start, p.End))
			at = p.End
		}
	}
	if at == 0 {
		text(s)
	} else if at < len(s.text) {
		text(s.part(at, len(s.text)))
	}
}

// origin returns the offset in the document of the byte at i.
func (s *span) origin(i int) int {
	for ; s.outer != nil; s = s.outer {
		if s.raw != "" {
			if s.offsets == nil {
				rawjson.Unescape(s.raw, &s.offsets)
			}
			i = s.offsets[i]
		}
		i += s.at
	}
	return i
}

// source returns the bytes from start to end as the document writes them.
func (s *span) source(start, end int) string { return s.doc.text[s.origin(start):s.origin(end)] }

// escaped returns a text as it is written in the span.
func (s *span) escaped(text string) string {
	for range s.depth {
		text = rawjson.Escape(text)
	}
	return text
}

// replace replaces the bytes from start to end by a text.
func (s *span) replace(start, end int, text string) { s.put(start, end, s.escaped(text)) }

// put is replace for a text that is already escaped.
func (s *span) put(start, end int, source string) {
	s.doc.edits = append(s.doc.edits, edit{s.origin(start), s.origin(end), source})
}

// isJSON reports whether the span is read as JSON: an object or a list that is not nested too deep in strings.
func (s *span) isJSON() bool { return s.depth <= maxNested && isContainer(s.text) }

func isContainer(text string) bool {
	i := skipSpace(text, 0)
	return i+1 < len(text) && (text[i] == '{' || text[i] == '[') && json.Valid([]byte(text))
}

// literal is a string or a number in a span of JSON.
type literal struct {
	span       *span        // the text that holds the literal
	start, end int          // the literal, including the quotes of a string
	escaped    bool         // the string has escapes
	isName     bool         // it is the name of a member
	inside     detect.Signs // of objects in it, if it is JSON
}

// text returns the span of a string's text.
func (l literal) text() *span {
	in := l.span.inside(l.start+1, l.end-1, l.escaped)
	in.signs = l.inside
	return in
}

func (l literal) isString() bool { return l.span.text[l.start] == '"' }

// walk calls visit for each string and number of the span, which must be valid JSON, in order. The hint comes from the member whose value
// the literal is; it also applies to the items of a list, and to the value in an object: {"phone": [{"value": "555…"}]}. The literal's span of
// text knows the signs of its container. If f is nil, there are no hints.
func (s *span) walk(f *fields, visit func(l literal, h hint)) {
	if f == nil {
		f = &noFields
	}
	var objects []detect.Signs
	if f != &noFields {
		objects = f.objects(s.text)
	}
	type frame struct {
		container, object detect.Signs
		outer             hint // of the member whose value it is
		rows
	}
	at, around := frame{container: s.signs}, []frame(nil)
	inside, h := s.signs, hint{}
	for i := 0; i < len(s.text); {
		l := literal{span: s, start: i, inside: inside}
		switch c := s.text[i]; {
		case c == '"':
			l.end, l.escaped = stringEnd(s.text, i)
			after := skipSpace(s.text, l.end)
			l.isName = after < len(s.text) && s.text[after] == ':'
			visit(l, at.hint(h))
			switch raw := s.text[l.start+1 : l.end-1]; {
			case f == &noFields:
			case l.isName:
				h, inside = f.hint(raw, at.object), f.inside(raw, at.container)
				if h == (hint{}) && (at.outer.set || detect.IsWhole(at.outer.typ)) && isValue(raw, s.text[skipSpace(s.text, after+1)]) {
					h = at.outer
				}
				at.member = raw
			default:
				at.add(raw)
			}
			i = l.end
		case c == '-' || c-'0' < 10:
			for l.end = i + 1; l.end < len(s.text) && strings.IndexByte("0123456789+-.eE", s.text[l.end]) >= 0; l.end++ {
			}
			visit(l, at.hint(h))
			i = l.end
		case c == ',':
			at.item++
			i++
		case c == '{' || c == '[':
			around = append(around, at)
			at = frame{container: inside, outer: h}
			if c == '[' {
				at.rows = around[len(around)-1].list()
			} else {
				h = hint{}
				if f != &noFields {
					at.object = inside | objects[0]
					objects = objects[1:]
				}
			}
			i++
		case c == '}' || c == ']':
			inside, h = at.container, at.outer
			outer := around[len(around)-1]
			if f != &noFields {
				outer.end(&at.rows, f)
			}
			at, around = outer, around[:len(around)-1]
			i++
		default:
			i++
		}
	}
}

// isValue reports whether the member of an object holds what the object stands for. begin is the first byte of its value.
func isValue(member string, begin byte) bool {
	switch member {
	case "value", "display_value", "plain_text", "content", "number":
		return true
	case "title", "rich_text", "text": // in Notion; elsewhere they are strings that are something else
		return begin == '[' || begin == '{'
	}
	return false
}

// noFields tells no hints.
var noFields fields

func skipSpace(s string, i int) int {
	for i < len(s) && strings.IndexByte(" \n\t\r", s[i]) >= 0 {
		i++
	}
	return i
}

// stringEnd returns the end of the string literal at i, and whether it has escapes.
func stringEnd(s string, i int) (end int, escaped bool) {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i + 1, escaped
		case '\\':
			escaped = true
			i++
		}
	}
	return len(s), escaped // valid JSON has an end
}
