package typescript

import (
	"cmp"
	"strings"

	"github.com/mcpgen/mcpgen/gen/render/internal/text"
)

// quote returns s as a string literal.
func quote(s string) string { return text.Quote(s, text.Braces) }

// comment makes s safe to appear inside a comment, and returns its lines. There are none if s is blank.
func comment(s string) []string {
	lines := text.Lines(s)
	for i, line := range lines {
		lines[i] = defuse(strings.ReplaceAll(line, "*/", "*\\/"))
	}
	return lines
}

// defuse breaks what tools read in comments: @ts-ignore and the like, and the marks that allow a bundler to drop calls.
func defuse(line string) string {
	if !strings.ContainsAny(line, "@#") {
		return line
	}
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		b.WriteByte(line[i])
		if line[i] != '@' && line[i] != '#' {
			continue
		}
		rest := strings.ToLower(line[i+1 : min(len(line), i+20)])
		if strings.HasPrefix(rest, "ts-") || strings.HasPrefix(rest, "__") ||
			strings.HasPrefix(strings.TrimLeft(rest, " "), "sourcemapp") {
			b.WriteByte('\\')
		}
	}
	return b.String()
}

// docComment returns a documentation comment with a line end, or nothing if the text is blank. No line of the text is at the beginning of a
// line in the file, where code begins.
func docComment(indent, s string) string {
	lines := comment(s)
	if len(lines) == 0 {
		return ""
	}
	for i, line := range lines[1:] {
		if line != "" {
			lines[i+1] = cmp.Or(indent, indentStep) + line
		}
	}
	return indent + "/** " + strings.Join(lines, "\n") + " */\n"
}
