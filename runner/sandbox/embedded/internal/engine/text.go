//go:build !386 && !arm

package engine

import (
	"bytes"
	"unicode/utf8"
)

// fromJS makes a Go string of the engine's UTF-8, in which a lone surrogate is three bytes that are no UTF-8: each
// becomes one U+FFFD, as TextEncoder has it.
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

// toJS makes sure that the engine gets UTF-8; given anything else it skips bytes.
func toJS(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	out := make([]rune, 0, len(s))
	for _, r := range s { // an invalid byte comes as U+FFFD
		out = append(out, r)
	}
	return string(out)
}
