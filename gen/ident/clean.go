package ident

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible reports whether r has a visible shape, or is a space, and does not affect the characters around it. Control,
// bidirectional, zero-width and tag characters, variation selectors and fillers are not visible.
func Visible(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= ' ' && r <= '~'
	}
	return unicode.IsPrint(r) && r != utf8.RuneError && !Invisible(r)
}

// Invisible reports whether r has no visible shape and is not a space, as zero-width, bidirectional and tag characters, variation selectors
// and fillers. It returns false for control characters.
func Invisible(r rune) bool {
	const blankBraille = '\u2800'
	return r >= 0xAD && (r == blankBraille ||
		unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point))
}

// Unseen reports whether r is a control character or [Invisible].
func Unseen(r rune) bool { return unicode.IsControl(r) || Invisible(r) }

// lineEnds replaces every line end by a line feed, and tabs by spaces. It is built once, because building it costs more than using it.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\u0085", "\n", "\v", "\n", "\f", "\n", "\t", "  ")

// CleanText makes untrusted text safe to show to a model or a person. It drops characters that are not [Visible],
// replaces tabs and other white space by spaces, and replaces every line end by a line feed.
func CleanText(text string) string {
	if isClean(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || Visible(r):
			return r
		case unicode.Is(unicode.Zs, r):
			return ' '
		}
		return -1
	}, lineEnds.Replace(text))
}

// CleanLine is [CleanText] on one line: it replaces line ends and runs of white space by one space, so that the text
// cannot forge a line of its own.
func CleanLine(text string) string { return strings.Join(strings.Fields(CleanText(text)), " ") }

// Printable makes a text safe for an error, a log or a terminal: it removes control characters, and terminal escapes with them, and
// clips the text to n bytes. Invisible characters stay.
func Printable(text string, n int) string {
	return Clip(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r) || r == 0x2028 || r == 0x2029:
			return -1
		}
		return r
	}, text), n)
}

// CleanName returns the name of a file unchanged if all its characters are [Visible] and it does not begin with a quotation
// mark. Otherwise it returns an ASCII string literal, which [strconv.Unquote] turns back into the name.
func CleanName(name string) string {
	if strings.HasPrefix(name, `"`) || strings.ContainsFunc(name, func(r rune) bool { return !Visible(r) }) {
		return strconv.QuoteToASCII(name)
	}
	return name
}

// isClean reports whether text consists of visible ASCII and line feeds, as most text does. Such text needs no change.
func isClean(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c > '~') && c != '\n' {
			return false
		}
	}
	return true
}

// maxNamed is the maximum number of names in a List.
const maxNamed = 20

// List joins names with commas. Of more than twenty names it lists the first ones and counts the rest.
func List(names []string) string {
	if len(names) > maxNamed {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
	}
	return strings.Join(names, ", ")
}
