package syntax

import (
	"math"
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// lines is a text with the bytes at which its lines begin. Source maps count columns in UTF-16. What was measured last is kept, since
// places of one long line that follow each other would else take time that grows with the square of its length.
type lines struct {
	text   string
	starts []int

	line, at, unit int // measured: the line, the byte of the text, and the column in UTF-16, from 0
}

// linesOf finds the lines of a text. A \r before a \n ends none.
func linesOf(text string, ends ...string) *lines {
	l := &lines{text: text, starts: []int{0}}
	for i := 0; i < len(text); i++ {
		for _, end := range ends {
			if strings.HasPrefix(text[i:], end) && !strings.HasPrefix(text[i:], "\r\n") {
				l.starts = append(l.starts, i+len(end))
			}
		}
	}
	return l
}

// place returns the line and the column of a byte, both from 1.
func (l *lines) place(at int) (line, column int) {
	line = sort.SearchInts(l.starts, at+1)
	return line, at - l.starts[line-1] + 1
}

// units returns the column in UTF-16 of a column in bytes, both from 0.
func (l *lines) units(line, column int) int {
	l.measure(line, l.starts[line-1]+column, math.MaxInt)
	return l.unit
}

// offset returns the byte of a column in UTF-16, from 0. It is not behind the text.
func (l *lines) offset(line, unit int) int {
	l.measure(line, len(l.text), unit)
	return l.at
}

// measure goes along a line, until a byte or a column is reached.
func (l *lines) measure(line, at, unit int) {
	if line != l.line || at < l.at || unit < l.unit {
		l.line, l.at, l.unit = line, l.starts[line-1], 0
	}
	for l.at < min(at, len(l.text)) && l.unit < unit {
		c, n := utf8.DecodeRuneInString(l.text[l.at:])
		l.at, l.unit = l.at+n, l.unit+utf16.RuneLen(c)
	}
}
