// Package rawjson reads JSON as it is written: the escapes of strings, to the byte, and the objects and lists of JSON within texts.
package rawjson

import (
	"encoding/json"
	"slices"
	"strings"
)

// Part is an object or a list of JSON from start to end of a text.
type Part struct{ Start, End int }

// Parts returns the objects and lists of JSON in a text, in order; those that are in others are left out.
func Parts(text string) []Part {
	if strings.IndexByte(text, '"') < 0 || !strings.ContainsAny(text, "{[") {
		return nil // there is nothing that differs from text
	}
	var s Scanner
	for i := range len(text) {
		s.Step(i, text[i])
	}
	out := s.Done[:0]
	for _, p := range s.Done {
		if json.Valid([]byte(text[p.Start:p.End])) {
			out = append(out, p)
		}
	}
	return out
}

// Scanner finds objects and lists of JSON in a text that it gets byte by byte. It does not check how numbers, words and escapes are written.
type Scanner struct {
	Done []Part // complete ones that are in no other

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

// IsOpen reports whether what came last may be the beginning of an object or a list.
func (s *Scanner) IsOpen() bool { return len(s.open) > 0 }

// Start returns where the outermost object or list begins that may continue. There is one if IsOpen.
func (s *Scanner) Start() int { return s.open[0].start }

// Step takes the byte at i.
func (s *Scanner) Step(i int, c byte) {
	if s.IsOpen() && s.accepts(i, c) {
		return
	}
	s.open, s.escaped = s.open[:0], false
	if c == '{' || c == '[' {
		s.begin(i, c)
	}
}

func (s *Scanner) begin(i int, c byte) bool {
	s.open = append(s.open, opened{i, c == '{'})
	s.next = firstItem
	if c == '{' {
		s.next = firstKey
	}
	return len(s.open) <= maxOpen
}

// accepts takes a byte in an object or a list, and reports whether it may be there.
func (s *Scanner) accepts(i int, c byte) bool {
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

func (s *Scanner) acceptsInString(c byte) bool {
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
func (s *Scanner) end(at int) bool {
	p := Part{s.open[len(s.open)-1].start, at}
	s.open, s.next = s.open[:len(s.open)-1], comma
	for len(s.Done) > 0 && s.Done[len(s.Done)-1].Start > p.Start {
		s.Done = s.Done[:len(s.Done)-1]
	}
	s.Done = append(s.Done, p)
	return true
}

// Passed says that the text now begins at an offset, which is in none of its objects and lists.
func (s *Scanner) Passed(offset int) {
	for i := range s.open {
		s.open[i].start -= offset
	}
	s.Done = slices.DeleteFunc(s.Done, func(p Part) bool { return p.End <= offset })
	for i := range s.Done {
		s.Done[i].Start -= offset
		s.Done[i].End -= offset
	}
}

// isLiteral reports whether a number, true, false or null may have a byte.
func isLiteral(c byte) bool { return strings.IndexByte("0123456789+-.eEtrufalsn", c) >= 0 }
