package cli

import (
	"io"
	"regexp"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// Neutral returns a writer to a terminal that shows control and invisible characters as escapes, so that foreign text in an error
// cannot move the cursor, set a title, write to the clipboard, or reverse or hide text. Newlines, tabs, carriage returns, spaces
// and colours pass. The writer is not safe for concurrent use.
func Neutral(w io.Writer) io.Writer { return &neutral{w: w} }

type neutral struct {
	w    io.Writer
	rest []byte // the beginning of a character whose end was not written yet
}

var (
	colour = regexp.MustCompile(`\x1b\[[0-9;]*m`)
	// passes are the characters that pass besides the visible ones.
	passes = "\t\n\r\u00a0\u202f\u3000"
)

func (n *neutral) Write(p []byte) (int, error) {
	text := append(n.rest, p...)
	whole := len(text)
	for i := whole - 1; i >= 0 && i >= len(text)-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				whole = i
			}
			break
		}
	}
	n.rest = text[whole:]
	var out []byte
	at := 0
	for _, c := range colour.FindAllIndex(text[:whole], -1) {
		out = append(append(out, ident.Escape(string(text[at:c[0]]), passes)...), text[c[0]:c[1]]...)
		at = c[1]
	}
	out = append(out, ident.Escape(string(text[at:whole]), passes)...)
	if _, err := n.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}
