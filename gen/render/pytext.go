package render

import (
	"slices"
	"strings"
)

func joinLines(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "\n")
}

// pyDocstring returns a docstring with a line end, or nothing for no text.
func pyDocstring(indent, text string) string {
	lines := docstring(comment(python, text))
	if len(lines) == 0 {
		return ""
	}
	for i, line := range lines {
		if line != "" {
			lines[i] = indent + line
		}
	}
	body := strings.TrimPrefix(strings.Join(lines, "\n"), indent)
	if len(lines) == 1 {
		return indent + `"""` + body + `"""` + "\n"
	}
	return indent + `"""` + body + "\n" + indent + `"""` + "\n"
}

// pyCommented puts text beside code where it is one line, and above it where it is more.
func pyCommented(indent, code, text string) (string, bool) {
	lines := comment(python, text)
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
