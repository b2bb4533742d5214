package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// Table prints rows in aligned columns, two spaces between them. Cells are cleaned; the header, when there is one, is
// bold. The last column is as wide as it likes.
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

// FitTable prints a table to Stdout that is no wider than the terminal: it cuts the last column, and leaves out columns from the
// right of which nothing would be seen.
func (a *App) FitTable(header []string, rows [][]string) error {
	const least = 5 // characters of a column that is cut
	for columns := a.Columns(); columns > 0 && len(header) > 1; {
		last := len(header) - 1
		room := columns
		for i := range last {
			room -= columnWidth(header, rows, i) + 2
		}
		if room >= min(least, columnWidth(header, rows, last)) {
			for _, row := range rows {
				row[last] = Shorten(row[last], room)
			}
			header[last] = Shorten(header[last], room)
			break
		}
		header = header[:last]
		for i := range rows {
			rows[i] = rows[i][:last]
		}
	}
	return Table(a.Stdout, a.OutStyle(), header, rows)
}

func columnWidth(header []string, rows [][]string, i int) int {
	width := utf8.RuneCountInString(header[i])
	for _, row := range rows {
		width = max(width, utf8.RuneCountInString(EscapeLine(row[i])))
	}
	return width
}

// Fold breaks a text at spaces into lines of at most width characters; longer words stay whole. With a width below 20, which is
// too narrow for reading, it breaks nothing.
func Fold(text string, width int) []string {
	if width < 20 {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// JSON prints v on Stdout as one indented JSON value. What a terminal could act upon is written as \u escapes, which
// leaves the value the same.
func (a *App) JSON(v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	_, err := io.WriteString(a.Stdout, escapeJSON(buf.String()))
	return err
}

// escapeJSON rewrites unprintable characters of a JSON text. Such characters stand inside strings only.
func escapeJSON(s string) string {
	if printable(s, "\n") {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || shown(r):
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		}
	}
	return b.String()
}

// Count is "1 tool", "2 tools": n and the word, with an s unless n is one.
func Count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
