package bridge

import (
	"errors"
	"unicode/utf16"
)

// str scans a string from its opening quote past its closing one.
func (s *scanner) str() error {
	s.pos++
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return nil
		case c == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		case c < 0x20:
			return s.syntax("control character in a string")
		default:
			s.pos++
		}
	}
	return s.syntax("unfinished string")
}

func (s *scanner) escape() error {
	s.pos++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return nil
	case 'u':
		return s.unicode()
	}
	return s.syntax("unknown escape")
}

// unicode scans what follows the backslash of \uXXXX, and of the second half where it is a surrogate pair.
func (s *scanner) unicode() error {
	first, err := s.hex4()
	if err != nil {
		return err
	}
	if !s.strict || !utf16.IsSurrogate(first) {
		return nil
	}
	if s.peek() == '\\' && s.pos+1 < len(s.data) && s.data[s.pos+1] == 'u' {
		s.pos++
		second, err := s.hex4()
		if err != nil {
			return err
		}
		if utf16.DecodeRune(first, second) != '\uFFFD' {
			return nil
		}
	}
	return errors.New("half of a surrogate pair in a string")
}

// hex4 scans the u and its four digits.
func (s *scanner) hex4() (rune, error) {
	if s.pos+5 > len(s.data) {
		return 0, s.syntax("unfinished escape")
	}
	var r rune
	for _, c := range s.data[s.pos+1 : s.pos+5] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, s.syntax("unknown escape")
		}
		r = r<<4 | rune(c)
	}
	s.pos += 5
	return r, nil
}

func (s *scanner) number() error {
	if s.peek() == '-' {
		s.pos++
	}
	if s.peek() == '0' {
		s.pos++
	} else if !s.digits() {
		return s.syntax("bad number")
	}
	if s.peek() == '.' {
		s.pos++
		if !s.digits() {
			return s.syntax("bad number")
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if !s.digits() {
			return s.syntax("bad number")
		}
	}
	return nil
}

// digits scans one digit or more.
func (s *scanner) digits() bool {
	start := s.pos
	for c := s.peek(); '0' <= c && c <= '9'; c = s.peek() {
		s.pos++
	}
	return s.pos > start
}
