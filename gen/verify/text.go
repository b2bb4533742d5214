package verify

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// checkText refuses what is not valid UTF-8, and characters that can't be seen or that change how others are shown:
// controls but the line feed, bidirectional and zero-width characters, tags, variation selectors, fillers.
func checkText(src []byte) *Error {
	for i := 0; i < len(src); {
		c := src[i]
		if c < utf8.RuneSelf {
			if (c < ' ' && c != '\n') || c == 0x7f {
				return fail(lineAt(src, i), string(src[i:i+1]), "no control character")
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && size == 1 {
			return fail(lineAt(src, i), string(src[i:i+1]), "valid UTF-8")
		}
		if !visible(r) {
			return fail(lineAt(src, i), string(src[i:i+size]), "no character that can't be seen")
		}
		i += size
	}
	return nil
}

// visible reports whether a character beyond ASCII shows, and changes nothing around it.
func visible(r rune) bool {
	return unicode.IsPrint(r) &&
		!unicode.Is(unicode.Variation_Selector, r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

func lineAt(src []byte, i int) int { return 1 + bytes.Count(src[:i], []byte("\n")) }
