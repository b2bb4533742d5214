package bridge

import (
	"encoding/binary"
	"errors"
	"unicode/utf16"
)

// str scans a string from its opening quote past its closing one.
func (s *scanner) str() error {
	at := plain(s.data, s.pos+1)
	for at < len(s.data) {
		switch c := s.data[at]; {
		case c == '"':
			s.pos = at + 1
			return nil
		case c == '\\':
			s.pos = at
			if err := s.escape(); err != nil {
				return err
			}
			at = plain(s.data, s.pos)
		default:
			s.pos = at
			return s.syntax("control character in a string")
		}
	}
	s.pos = at
	return s.syntax("unfinished string")
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plain returns where, from at on, the next byte is that is not simply part of a string: a quote, a backslash, a control
// character; the length of data if there is none. Strings are most of what crosses the bridge, so they are looked at
// eight bytes at a time.
func plain(data []byte, at int) int {
	for at+8 <= len(data) {
		word := binary.LittleEndian.Uint64(data[at:])
		quote, slash := word^('"'*ones), word^('\\'*ones)
		// A high bit is set where a byte is zero, or below 0x20; never where all eight are plain.
		if ((quote-ones)&^quote|(slash-ones)&^slash|(word-0x20*ones)&^word)&highs != 0 {
			break
		}
		at += 8
	}
	for at < len(data) && data[at] != '"' && data[at] != '\\' && data[at] >= 0x20 {
		at++
	}
	return at
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
