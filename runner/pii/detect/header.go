package detect

import "strings"

// Header returns the line of column names of the table in which a text ends, or "" if it ends in none. The text continues another one, for
// which Header returned before. With that line before it, Find reads the rest of a table that comes in pieces.
func Header(before, text string) string {
	header := before
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if header == "" || !inTable(header, line) {
			header = ""
			if separator, _ := columnsOf(line); separator != 0 {
				header = line
			}
		}
	}
	return header
}

// columnsOf returns the separator of a line of column names, and how often it has it; 0 if it is no such line.
func columnsOf(line string) (separator byte, n int) {
	for _, c := range separators {
		if n := countSeparators(line, c); n > 0 && n < MaxColumns && columnHints(line, c) != nil {
			return c, n
		}
	}
	return 0, 0
}

// inTable reports whether a line belongs to the table with a header.
func inTable(header, line string) bool {
	separator, n := columnsOf(header)
	return isRow(line, separator, n)
}
