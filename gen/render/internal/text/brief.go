package text

import "strings"

// Uncomment returns printed code without comments. A comment begins with the mark line and ends with its line or, if block is not empty, is
// between the marks block and end. Line breaks inside braces, brackets and parentheses become spaces, after the separator if one is needed.
// Other lines keep their indentation; empty lines are dropped.
func Uncomment(code, line, block, end, separator string) string {
	var b strings.Builder
	depth := 0
	broken := false // a line ended
	for i := 0; i < len(code); {
		rest := code[i:]
		switch c := code[i]; {
		case strings.HasPrefix(rest, line):
			i += lengthTo(rest, "\n")
		case block != "" && strings.HasPrefix(rest, block):
			i += lengthTo(rest, end) + len(end)
		case c == '\n':
			broken = true
			i++
		case (c == ' ' || c == '\t') && (broken && depth > 0 || blankAfter(rest, line)):
			i++
		default:
			if broken && b.Len() > 0 {
				b.WriteString(lineBreak(b.String(), c, depth, separator))
			}
			broken = false
			n := 1
			switch c {
			case '{', '[', '(':
				depth++
			case '}', ']', ')':
				depth--
			case '"':
				n = stringLength(rest)
			}
			b.WriteString(rest[:n])
			i += n
		}
	}
	return b.String()
}

// lineBreak returns the replacement of a line break between the code before it and the byte after it.
func lineBreak(before string, next byte, depth int, separator string) string {
	last := before[len(before)-1]
	switch {
	case depth == 0:
		return "\n"
	case last == '(' || last == '[' || next == ')' || next == ']':
		return ""
	case last == '{' || last == ',' || next == '}':
		return " "
	}
	return separator + " "
}

// lengthTo returns the number of bytes before the mark, or the length of the text without a mark.
func lengthTo(s, mark string) int {
	before, _, _ := strings.Cut(s, mark)
	return len(before)
}

// blankAfter reports whether the rest of a line contains only blanks and a comment.
func blankAfter(s, line string) bool {
	s = strings.TrimLeft(s, " \t")
	return s == "" || s[0] == '\n' || strings.HasPrefix(s, line)
}

// stringLength returns the length of the string literal at the beginning of s.
func stringLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"', '\n':
			return i + 1
		}
	}
	return len(s)
}
