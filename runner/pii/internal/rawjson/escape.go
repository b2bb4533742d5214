package rawjson

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Unescape returns the text of a JSON string literal without its quotes. If offsets is not nil, it gets the offset in the
// literal of each byte of the text and of its end. Half of a surrogate pair, which no text can hold, becomes the three bytes
// that UTF-8 would have for it; Escape reverses that.
func Unescape(raw string, offsets *[]int) string {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		start, had := i, len(out)
		switch {
		case raw[i] != '\\' || i+1 >= len(raw):
			out = append(out, raw[i])
			i++
		case raw[i+1] == 'u':
			var r rune
			r, i = unicodeEscape(raw, i)
			out = appendRune(out, r)
		default:
			out = append(out, simpleEscape(raw[i+1]))
			i += 2
		}
		if offsets != nil {
			for range len(out) - had {
				*offsets = append(*offsets, start)
			}
		}
	}
	if offsets != nil {
		*offsets = append(*offsets, len(raw))
	}
	return string(out)
}

func simpleEscape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// unicodeEscape decodes the escape at i, and also the one after it if the two form one character.
func unicodeEscape(raw string, i int) (r rune, end int) {
	r, end = hex4(raw, i), min(i+6, len(raw))
	if utf16.IsSurrogate(r) && end+6 <= len(raw) && raw[end] == '\\' && raw[end+1] == 'u' {
		if both := utf16.DecodeRune(r, hex4(raw, end)); both != utf8.RuneError {
			return both, end + 6
		}
	}
	return r, end
}

func hex4(raw string, i int) rune {
	n, err := strconv.ParseUint(raw[min(i+2, len(raw)):min(i+6, len(raw))], 16, 16)
	if err != nil {
		return utf8.RuneError // valid JSON has none
	}
	return rune(n)
}

func appendRune(out []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(out, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(out, r)
}

// Escape returns a text as it is written between the quotes of a JSON string.
func Escape(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == utf8.RuneError }) < 0 {
		return text
	}
	const digits = "0123456789abcdef"
	out := make([]byte, 0, len(text)+16)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c == '\n':
			out = append(out, `\n`...)
		case c == '\r':
			out = append(out, `\r`...)
		case c == '\t':
			out = append(out, `\t`...)
		case c < ' ':
			out = append(out, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		case c == 0xed && i+2 < len(text) && text[i+1] >= 0xa0 && text[i+1] < 0xc0 && text[i+2]&0xc0 == 0x80:
			r := rune(0xd)<<12 | rune(text[i+1]&0x3f)<<6 | rune(text[i+2]&0x3f)
			out = append(out, '\\', 'u', digits[r>>12], digits[r>>8&15], digits[r>>4&15], digits[r&15])
			i += 2
		default:
			out = append(out, c)
		}
	}
	return string(out)
}
