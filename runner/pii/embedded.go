package pii

import (
	"encoding/json"
	"slices"
	"strings"
)

// part is an object or a list of JSON from start to end of a text.
type part struct{ start, end int }

// parts returns the objects and lists of JSON in a text, in order; those that are in others are left out.
func parts(text string) []part {
	if strings.IndexByte(text, '"') < 0 || !strings.ContainsAny(text, "{[") {
		return nil // there is nothing that differs from text
	}
	var s jsonScanner
	for i := range len(text) {
		s.step(i, text[i])
	}
	out := s.done[:0]
	for _, p := range s.done {
		if json.Valid([]byte(text[p.start:p.end])) {
			out = append(out, p)
		}
	}
	return out
}

// jsonScanner finds objects and lists of JSON in a text that it gets byte by byte. It does not check how numbers, words and escapes are written.
type jsonScanner struct {
	done []part // complete ones that are in no other

	open    []opened // the objects and lists around the place
	next    place
	isKey   bool // the string is the name of a member
	escaped bool
}

type opened struct {
	start  int
	object bool
}

// place is what comes next in an object or a list.
type place int

const (
	firstKey  place = iota // or the end
	firstItem              // or the end
	otherKey
	otherItem // or the value of a member
	colon
	comma // or the end
	inString
	inLiteral // a number or a word
)

const maxOpen = 1000

// isOpen reports whether what came last may be the beginning of an object or a list.
func (s *jsonScanner) isOpen() bool { return len(s.open) > 0 }

// step takes the byte at i.
func (s *jsonScanner) step(i int, c byte) {
	if s.isOpen() && s.accepts(i, c) {
		return
	}
	s.open, s.escaped = s.open[:0], false
	if c == '{' || c == '[' {
		s.begin(i, c)
	}
}

func (s *jsonScanner) begin(i int, c byte) bool {
	s.open = append(s.open, opened{i, c == '{'})
	s.next = firstItem
	if c == '{' {
		s.next = firstKey
	}
	return len(s.open) <= maxOpen
}

// accepts takes a byte in an object or a list, and reports whether it may be there.
func (s *jsonScanner) accepts(i int, c byte) bool {
	if s.next == inString {
		return s.acceptsInString(c)
	}
	if s.next == inLiteral {
		if isLiteral(c) {
			return true
		}
		s.next = comma
	}
	isValue := s.next == firstItem || s.next == otherItem
	switch {
	case c == ' ' || c == '\n' || c == '\r' || c == '\t':
		return true
	case c == '"' && (isValue || s.next == firstKey || s.next == otherKey):
		s.isKey, s.next = !isValue, inString
		return true
	case c == ':' && s.next == colon:
		s.next = otherItem
		return true
	case c == ',' && s.next == comma:
		s.next = otherItem
		if s.open[len(s.open)-1].object {
			s.next = otherKey
		}
		return true
	case c == '{' || c == '[':
		return isValue && s.begin(i, c)
	case c == '}' || c == ']':
		last := s.open[len(s.open)-1]
		return last.object == (c == '}') && (s.next == comma || s.next == firstKey || s.next == firstItem) && s.end(i+1)
	case isValue && isLiteral(c):
		s.next = inLiteral
		return true
	}
	return false
}

func (s *jsonScanner) acceptsInString(c byte) bool {
	switch {
	case s.escaped:
		s.escaped = false
	case c == '\\':
		s.escaped = true
	case c == '"' && s.isKey:
		s.next = colon
	case c == '"':
		s.next = comma
	}
	return c >= ' '
}

// end ends the innermost object or list.
func (s *jsonScanner) end(at int) bool {
	p := part{s.open[len(s.open)-1].start, at}
	s.open, s.next = s.open[:len(s.open)-1], comma
	for len(s.done) > 0 && s.done[len(s.done)-1].start > p.start {
		s.done = s.done[:len(s.done)-1]
	}
	s.done = append(s.done, p)
	return true
}

// passed says that the text now begins at an offset, which is in none of its objects and lists.
func (s *jsonScanner) passed(offset int) {
	for i := range s.open {
		s.open[i].start -= offset
	}
	s.done = slices.DeleteFunc(s.done, func(p part) bool { return p.end <= offset })
	for i := range s.done {
		s.done[i].start -= offset
		s.done[i].end -= offset
	}
}

// isLiteral reports whether a number, true, false or null may have a byte.
func isLiteral(c byte) bool { return strings.IndexByte("0123456789+-.eEtrufalsn", c) >= 0 }
