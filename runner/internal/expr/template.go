package expr

import (
	"fmt"
	"strings"
)

// Part is a part of a template: literal text, or an expression.
type Part struct {
	Text         string
	IsExpression bool
	Offset       int // of the text in the template, in bytes
}

// Template returns the parts of a text in which ${ } encloses expressions: "Dear ${ input.name }". $${ stands for ${ itself.
func Template(text string) ([]Part, error) {
	var parts []Part
	literal := func(from int, s string) {
		if n := len(parts); n > 0 && !parts[n-1].IsExpression {
			parts[n-1].Text += s
		} else if s != "" {
			parts = append(parts, Part{Text: s, Offset: from})
		}
	}
	for at := 0; at < len(text); {
		i := strings.Index(text[at:], "${")
		if i < 0 {
			literal(at, text[at:])
			break
		}
		if i += at; i > at && text[i-1] == '$' {
			literal(at, text[at:i-1]+"${")
			at = i + 2
			continue
		}
		literal(at, text[at:i])
		length, ok := expressionLength(text[i+2:])
		if !ok {
			return nil, &SyntaxError{Line: strings.Count(text[:i], "\n"), Column: i - strings.LastIndexByte(text[:i], '\n') - 1, Problem: "the ${ is not closed by a }; for ${ as text, write $${"}
		}
		parts = append(parts, Part{Text: text[i+2 : i+2+length], IsExpression: true, Offset: i + 2})
		at = i + 2 + length + 1
	}
	return parts, nil
}

// expressionLength returns the length of the CEL expression that a text begins with, up to the brace that closes it. Braces in strings and
// comments do not count.
func expressionLength(text string) (int, bool) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return i, true
			}
			depth--
		case '"', '\'':
			raw := i > 0 && (text[i-1] == 'r' || text[i-1] == 'R')
			quote := string(c)
			if strings.HasPrefix(text[i:], strings.Repeat(quote, 3)) {
				quote = strings.Repeat(quote, 3)
			}
			for i += len(quote); i < len(text) && !strings.HasPrefix(text[i:], quote); i++ {
				if text[i] == '\\' && !raw {
					i++
				}
			}
			i += len(quote) - 1
		case '/':
			if strings.HasPrefix(text[i:], "//") {
				end := strings.IndexByte(text[i:], '\n')
				if end < 0 {
					return 0, false
				}
				i += end
			}
		}
	}
	return 0, false
}

// Text is the text that a template has for the JSON value of an expression: a string as it is, anything else as JSON.
func Text(raw []byte) (string, error) {
	value, err := Decode(raw)
	if err != nil {
		return "", fmt.Errorf("read the result: %w", err)
	}
	if s, ok := value.(string); ok {
		return s, nil
	}
	return string(raw), nil
}
