package detect

import "strings"

const (
	maxHeader = 512 // bytes of the line with the names of columns
	maxColumn = 40  // bytes of such a name
)

// MaxColumns bounds the columns of a table whose names count.
const MaxColumns = 100

// separators stand between the cells of a table: CSV, with tabs, semicolons, bars as in Markdown, lines as in console.table, or spaces as in a
// printed data frame.
var separators = []byte{'\t', '|', box, ';', ',', spaces}

const (
	spaces = ' '  // any number of them but one
	box    = 0xe2 // the first byte of │
)

// separatorText returns the text that a separator begins with.
func separatorText(separator byte) string {
	switch separator {
	case spaces:
		return "  "
	case box:
		return "│"
	}
	return string(rune(separator))
}

// rule are the characters of a line between the names of columns and the rows.
const rule = "-+|: =\r─┼├┤┌┬┐└┴┘│"

// Cells returns the names, companies, addresses and phone numbers in tables in a text, which have a line of column names. Only the first of
// the lines with the same number of separators may be that line.
func Cells(s string) (cells []Match) {
	if strings.IndexByte(s, '\n') < 0 {
		return nil
	}
	var columns []Type // hints of the table that the line before belongs to; nil without a table
	separator, width := byte(0), 0
	for start := 0; start < len(s); {
		end := strings.IndexByte(s[start:], '\n')
		if end < 0 {
			end = len(s) - start
		}
		end += start
		line := s[start:end]
		switch {
		case separator != 0 && isRow(line, separator, width):
			if columns != nil {
				cells = appendCells(cells, line, start, separator, columns)
			}
		default:
			columns, separator = nil, 0
			if end+1 >= len(s) {
				return cells
			}
			after, _, _ := strings.Cut(s[end+1:min(len(s), end+1+8*maxHeader)], "\n")
			for _, c := range separators {
				n := countSeparators(line, c)
				if n > 0 && n < MaxColumns && isRow(after, c, n) {
					columns, separator, width = columnHints(line, c), c, n
					break
				}
			}
		}
		start = end + 1
	}
	return cells
}

// isRow reports whether a line is a row of a table with so many separators, or a rule between two rows.
func isRow(line string, separator byte, width int) bool {
	return countSeparators(line, separator) == width || line != "" && strings.Trim(line, rule) == ""
}

// countSeparators returns the number of separators outside quotes in a line.
func countSeparators(line string, separator byte) (n int) {
	if n = strings.Count(line, separatorText(separator)); n == 0 || separator != spaces && strings.IndexByte(line, '"') < 0 {
		return n
	}
	n = -1
	for range cellsOf(line, separator) {
		n++
	}
	return n
}

// cellsOf yields the offsets of the cells of a line. Quotes may enclose a cell that has separators.
func cellsOf(line string, separator byte) func(yield func(start, end int) bool) {
	return func(yield func(start, end int) bool) {
		text := separatorText(separator)
		start, quoted := 0, false
		for i := 0; i < len(line); i++ {
			switch {
			case line[i] == '"':
				quoted = !quoted
			case line[i] == separator && !quoted && strings.HasPrefix(line[i:], text):
				if !yield(start, i) {
					return
				}
				i += len(text) - 1
				for separator == spaces && i+1 < len(line) && line[i+1] == ' ' {
					i++
				}
				start = i + 1
			}
		}
		if start < len(line) || separator != spaces {
			yield(start, len(line))
		}
	}
}

// columnHints returns the hints of a line of column names, or nil if the line is no header or has no hint of a person.
func columnHints(line string, separator byte) []Type {
	if len(line) > maxHeader || strings.ContainsAny(strings.Replace(line, "(index)", "", 1), "(){}=<>\\$@") {
		return nil
	}
	words, edges := 4, separator == '|' || separator == box
	if separator == spaces {
		words = 2 // more are an explanation in a second column
	}
	var names []string
	for start, end := range cellsOf(line, separator) {
		name := strings.Trim(line[start:end], " \"'*`\r#")
		if len(name) > maxColumn || strings.Count(name, " ") >= words || name == "" && !edges && (start > 0 || separator != spaces) {
			return nil
		}
		names = append(names, name)
	}
	return Columns(names)
}

// appendCells appends the matches in a line of a table that begins at offset.
func appendCells(cells []Match, line string, offset int, separator byte, columns []Type) []Match {
	n := -1
	for start, end := range cellsOf(line, separator) {
		if n++; n >= len(columns) || columns[n] == "" {
			continue
		}
		for start < end && strings.IndexByte(" \"'*`\r", line[start]) >= 0 {
			start++
		}
		for end > start && strings.IndexByte(" \"'*`\r", line[end-1]) >= 0 {
			end--
		}
		if typ := valueType(line[start:end], columns[n]); typ != "" && !strings.ContainsAny(line[start:end], "(){}[];=%\"") {
			cells = append(cells, Match{offset + start, offset + end, typ})
		}
	}
	return cells
}
