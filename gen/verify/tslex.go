package verify

import (
	"strings"
	"unicode/utf8"
)

// lexTypeScript splits a file into tokens. It refuses what no generated file holds: templates, regular expressions,
// single quotation marks, decorators, escapes outside strings, identifiers beyond ASCII.
func lexTypeScript(src string) ([]token, *Error) {
	tokens := make([]token, 0, len(src)/6+8)
	row := 1
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == '\n':
			row++
			i++
		case c == ' ':
			i++
		case c == '/':
			n, err := tsComment(src[i:], row)
			if err != nil {
				return nil, err
			}
			row += strings.Count(src[i:i+n], "\n")
			i += n
		case c == '"':
			t, n, err := tsString(src[i:], row)
			if err != nil {
				return nil, err
			}
			tokens = append(tokens, t)
			i += n
		case isLetter(c) || c == '$':
			j := i + 1
			for j < len(src) && (isLetter(src[j]) || isDigit(src[j]) || src[j] == '$') {
				j++
			}
			tokens = append(tokens, token{kind: name, line: row, text: src[i:j]})
			i = j
		case isDigit(c):
			j := scanNumber(src, i)
			if j < len(src) && (isLetter(src[j]) || src[j] == '$') {
				return nil, fail(row, src[i:j+1], "a number")
			}
			tokens = append(tokens, token{kind: number, line: row, text: src[i:j]})
			i = j
		default:
			n := 1
			switch {
			case strings.HasPrefix(src[i:], "..."):
				n = 3
			case strings.HasPrefix(src[i:], "=>"):
				n = 2
			case !strings.ContainsRune("{}[]()<>|&;:,?=-*", rune(c)):
				_, size := utf8.DecodeRuneInString(src[i:])
				return nil, fail(row, src[i:i+size], "code of ours")
			}
			tokens = append(tokens, token{kind: mark, line: row, text: src[i : i+n]})
			i += n
		}
	}
	return append(tokens, token{kind: end, line: row}), nil
}

// tsComment returns the length of the comment that src begins with.
func tsComment(src string, row int) (int, *Error) {
	n := 0
	switch {
	case strings.HasPrefix(src, "//"):
		if n = strings.IndexByte(src, '\n'); n < 0 {
			n = len(src)
		}
	case strings.HasPrefix(src, "/*"):
		i := strings.Index(src[2:], "*/")
		if i < 0 {
			return 0, fail(row, "/*", "a comment that ends")
		}
		n = i + 4
	default:
		return 0, fail(row, "/", "a comment")
	}
	if order := tsOrder(src[:n]); order != "" {
		return 0, fail(row, order, "no order to a compiler in a comment")
	}
	return n, nil
}

// tsOrder returns what a compiler or bundler would obey in a comment.
func tsOrder(comment string) string {
	if strings.HasPrefix(comment, "///") {
		return "///"
	}
	for i := 0; i < len(comment); i++ {
		if c := comment[i]; c != '@' && c != '#' {
			continue
		}
		rest := comment[i+1:]
		if foldPrefix(rest, "ts-") || foldPrefix(rest, "__") || foldPrefix(strings.TrimLeft(rest, " "), "sourcemappingurl") {
			return comment[i:]
		}
	}
	return ""
}

// foldPrefix reports whether s begins with prefix, which is lower case, in any case.
func foldPrefix(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// tsString reads the string literal that src begins with. Escapes are those that JSON and TypeScript have in common,
// and \u{…}.
func tsString(src string, row int) (token, int, *Error) {
	escaped := false
	for i := 1; i < len(src); i++ {
		switch c := src[i]; c {
		case '"':
			return token{kind: text, quote: '"', escaped: escaped, line: row, text: src[1:i]}, i + 1, nil
		case '\n':
			return token{}, 0, fail(row, src[:i], "a string that ends on its line")
		case '\\':
			escaped = true
			n := escapeLength(src[i:], true)
			if n == 0 {
				return token{}, 0, fail(row, src[i:min(i+2, len(src))], "an escape of ours")
			}
			i += n - 1
		}
	}
	return token{}, 0, fail(row, `"`, "a string that ends")
}

// escapeLength returns the length of the escape that s begins with, 0 for one that we do not write. braces allows
// \u{…} and forbids \U, as in TypeScript; without it the other way round, as in Python.
func escapeLength(s string, braces bool) int {
	if len(s) < 2 {
		return 0
	}
	switch c := s[1]; {
	case strings.IndexByte(`\"'nrtbf`, c) >= 0:
		return 2
	case c == 'x':
		return hexEscape(s, 2)
	case c == 'u' && braces && len(s) > 2 && s[2] == '{':
		i := 3
		for i < len(s) && i < 9 && isHex(s[i]) {
			i++
		}
		if i > 3 && i < len(s) && s[i] == '}' {
			return i + 1
		}
	case c == 'u':
		return hexEscape(s, 4)
	case c == 'U' && !braces:
		if n := hexEscape(s, 8); n > 0 && s[2:10] <= "0010ffff" {
			return n
		}
	}
	return 0
}

// hexEscape returns the length of a backslash, a letter and digits hexadecimal digits, 0 where those are missing.
func hexEscape(s string, digits int) int {
	if len(s) < 2+digits {
		return 0
	}
	for i := 2; i < 2+digits; i++ {
		if !isHex(s[i]) {
			return 0
		}
	}
	return 2 + digits
}
