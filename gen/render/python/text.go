package python

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpgen/mcpgen/gen/render/internal/text"
)

// quote returns s as a string literal.
func quote(s string) string { return text.Quote(s, text.Long) }

// comment makes s safe to appear inside a comment, and returns its lines. There are none if s is blank.
func comment(s string) []string {
	lines := text.Lines(s)
	for i, line := range lines {
		lines[i] = defuse(line)
	}
	return lines
}

// defuse breaks what type checkers and linters read in comments: "type: ignore", "pyright: basic". They read it at the beginning of a
// comment and after each # in it.
func defuse(line string) string {
	parts := strings.Split(line, "#")
	for i, part := range parts {
		word := strings.ToLower(strings.TrimLeft(part, " "))
		for _, tool := range []string{"type", "pyright", "mypy", "pylint", "pyre", "ruff", "flake8", "fmt", "isort", "pragma", "noqa", "nosec"} {
			rest, ok := strings.CutPrefix(word, tool)
			if ok && (strings.HasPrefix(strings.TrimLeft(rest, " "), ":") || tool == "noqa" || tool == "nosec") {
				parts[i] = "\\" + strings.TrimLeft(part, " ")
				break
			}
		}
	}
	return strings.Join(parts, "#")
}

// docComment returns a docstring with a line end, or nothing if the text is blank.
func docComment(indent, s string) string {
	lines := comment(s)
	if len(lines) == 0 {
		return ""
	}
	for i, line := range lines {
		if line != "" && i > 0 {
			lines[i] = indent + escapeQuotes(line)
		} else {
			lines[i] = escapeQuotes(line)
		}
	}
	body := strings.Join(lines, "\n")
	if len(lines) == 1 {
		return indent + `"""` + body + `"""` + "\n"
	}
	return indent + `"""` + body + "\n" + indent + `"""` + "\n"
}

// escapeQuotes escapes a line for a string in triple quotation marks. It escapes only the quotation marks that could help to end the
// string: several in a row, or one at the end of a line.
func escapeQuotes(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' || (line[i] == '"' && (i+1 == len(line) || line[i+1] == '"')) {
			b.WriteByte('\\')
		}
		b.WriteByte(line[i])
	}
	return b.String()
}

// commented puts doc beside code if doc is one line, and above it if it is longer. It reports whether there is any documentation.
func commented(indent, code, doc string) (string, bool) {
	lines := comment(doc)
	switch len(lines) {
	case 0:
		return indent + code, false
	case 1:
		return indent + code + " # " + lines[0], true
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimRight(indent+"# "+line, " ") + "\n")
	}
	return b.String() + indent + code, true
}

func appendNew(list []string, texts ...string) []string {
	for _, text := range texts {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

var (
	// stringLiterals matches string literals in a type, which may contain words that look like names.
	stringLiterals = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	// literalTypes matches the Literal types in a type.
	literalTypes = regexp.MustCompile(`Literal_*\[(?:[^"\]]|"(?:[^"\\]|\\.)*")*\]`)
)

// words returns the names in a type.
func words(expr string) []string {
	bare := stringLiterals.ReplaceAllString(expr, "")
	return strings.FieldsFunc(bare, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
}
