package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// Table prints rows in aligned columns, two spaces between them. Cells are cleaned. The header is printed in bold, unless it is nil.
func Table(w io.Writer, style Style, header []string, rows [][]string) error {
	var out bytes.Buffer
	columns := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	if header != nil {
		_, _ = fmt.Fprintln(columns, strings.Join(header, "\t")) // a buffer takes everything
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = EscapeLine(cell)
		}
		_, _ = fmt.Fprintln(columns, strings.Join(cells, "\t"))
	}
	_ = columns.Flush()
	var text strings.Builder
	for line := range strings.Lines(out.String()) {
		line = strings.TrimRight(line, " \n")
		if header != nil && text.Len() == 0 {
			line = style.Bold(line)
		}
		text.WriteString(line + "\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// Table prints a table to Stdout. On a terminal it shortens texts in the last column that would not fit.
func (a *App) Table(header []string, rows [][]string) error {
	const least = 20 // the fewest characters that a text is cut to
	width, last := 0, len(header)-1
	for i := range last {
		widest := 0
		for _, row := range append([][]string{header}, rows...) {
			widest = max(widest, utf8.RuneCountInString(EscapeLine(row[i])))
		}
		width += widest + 2
	}
	if columns := a.Columns(); columns > 0 {
		for _, row := range rows {
			row[last] = Shorten(row[last], max(least, columns-width))
		}
	}
	return Table(a.Stdout, a.OutStyle(), header, rows)
}

// JSON prints v on Stdout as one indented JSON value. Control and invisible characters are written as \u escapes.
func (a *App) JSON(v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	_, err := a.Stdout.Write(ident.EscapeJSON(buf.Bytes(), func(_, r rune) bool { return r != '\n' && !ident.Shows(r) }))
	return err
}

// Count returns n and the word, with an s unless n is 1: "1 tool", "2 tools".
func Count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
