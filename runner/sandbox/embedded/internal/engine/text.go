package engine

import (
	"bytes"
	"unicode/utf8"
)

// fromJS converts the engine's text to a Go string. The engine encodes a lone surrogate as three bytes that are not valid UTF-8;
// each becomes one U+FFFD, as with TextEncoder.
func fromJS(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	out := append([]byte(nil), b...)
	for i := 0; i+2 < len(out); i++ {
		if out[i] == 0xed && out[i+1] >= 0xa0 {
			copy(out[i:], "\uFFFD")
			i += 2
		}
	}
	return string(bytes.ToValidUTF8(out, []byte("\uFFFD")))
}

// toJS replaces invalid UTF-8 by U+FFFD; the engine would skip the bytes.
func toJS(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	out := make([]rune, 0, len(s))
	for _, r := range s { // an invalid byte yields U+FFFD
		out = append(out, r)
	}
	return string(out)
}
