package main

import (
	"strings"

	"golang.org/x/text/width"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
)

// span is a stretch of text in one colour. The text is foreign and not cleaned yet.
type span struct {
	text  string
	paint func(string) string // nil: as it is
}

// leastColumns is the narrowest column that text is wrapped to; in a narrower one the terminal may do it.
const leastColumns = 20

// wrapped puts spans behind a prefix that takes so many columns, and indents what doesn't fit into the columns of the
// terminal. 0 never wraps.
func wrapped(prefix string, taken, indent, columns int, spans []span) string {
	var out strings.Builder
	out.WriteString(prefix)
	room := columns - indent
	at := taken - indent
	for _, s := range spans {
		text := cli.CleanLine(s.text)
		for text != "" {
			word, rest := nextWord(text)
			text = rest
			if n := columnsOf(word); columns > 0 && room >= leastColumns {
				if at > 0 && at+n > room {
					out.WriteString("\n" + strings.Repeat(" ", indent))
					at, word = 0, strings.TrimLeft(word, " ")
					n = columnsOf(word)
				}
				at += n
			}
			if s.paint != nil && word != "" {
				word = s.paint(word)
			}
			out.WriteString(word)
		}
	}
	out.WriteByte('\n')
	return out.String()
}

// nextWord cuts off the next word with the spaces before it.
func nextWord(s string) (word, rest string) {
	start := len(s) - len(strings.TrimLeft(s, " "))
	if end := strings.IndexByte(s[start:], ' '); end >= 0 {
		return s[:start+end], s[start+end:]
	}
	return s, ""
}

// columnsOf is how many columns of a terminal a text takes.
func columnsOf(s string) int {
	n := 0
	for _, r := range s {
		n++
		if kind := width.LookupRune(r).Kind(); kind == width.EastAsianWide || kind == width.EastAsianFullwidth {
			n++
		}
	}
	return n
}

// padded is s followed by spaces up to n columns.
func padded(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-columnsOf(s)))
}
