package database

import (
	"errors"
	"fmt"
	"strings"
)

// firstWord returns a statement's first keyword in capitals, and an error when
// the text is empty or holds a second statement: the driver would run it too.
func firstWord(text string) (string, error) {
	rest := skipBlank(text)
	end := strings.IndexFunc(rest, func(r rune) bool { return r > 127 || !isLetter(byte(r)) })
	if end < 0 {
		end = len(rest)
	}
	if rest == "" {
		return "", errors.New("the statement is empty")
	}
	word := strings.ToUpper(rest[:end])
	for i := 0; i < len(rest); {
		if rest[i] == ';' {
			if tail := skipBlank(rest[i+1:]); strings.Trim(tail, "; \t\r\n") != "" {
				return "", fmt.Errorf("one statement at a time: unexpected text after the first \";\": %.40q", tail)
			}
			break
		}
		i += tokenLength(rest[i:])
	}
	return word, nil
}

// skipBlank skips white space and comments.
func skipBlank(text string) string {
	for {
		text = strings.TrimLeft(text, " \t\r\n\f\ufeff")
		n := commentLength(text)
		if n == 0 {
			return text
		}
		text = text[n:]
	}
}

// commentLength returns the length of the comment that text starts with, or 0.
func commentLength(text string) int {
	end := -1
	switch {
	case strings.HasPrefix(text, "--"):
		end = strings.IndexByte(text, '\n') + 1
	case strings.HasPrefix(text, "/*"):
		if i := strings.Index(text[2:], "*/"); i >= 0 {
			end = i + 4
		}
	default:
		return 0
	}
	if end <= 0 {
		return len(text)
	}
	return end
}

// tokenLength returns how far a quoted text or comment goes; 1 for the rest.
func tokenLength(text string) int {
	if n := commentLength(text); n > 0 {
		return n
	}
	closing := map[byte]byte{'\'': '\'', '"': '"', '`': '`', '[': ']'}[text[0]]
	if closing == 0 {
		return 1
	}
	// A doubled quote inside a string ends one token and starts the next.
	if i := strings.IndexByte(text[1:], closing); i >= 0 {
		return i + 2
	}
	return len(text)
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
