package python

import (
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/render/internal/rendertest"
)

func checkComment(t *testing.T, text string) {
	t.Helper()
	lines := comment(text)
	rendertest.CheckLines(t, text, lines)
	for _, line := range lines {
		for _, part := range strings.Split(line, "#") {
			word := strings.ToLower(strings.TrimLeft(part, " "))
			if strings.HasPrefix(word, "type:") || strings.HasPrefix(word, "pyright:") || strings.HasPrefix(word, "noqa") {
				t.Errorf("%q keeps a directive: %q", text, line)
			}
		}
	}
	got := docComment("", text)
	if got == "" {
		return
	}
	inner := strings.TrimPrefix(got, `"""`)
	for i := 0; i < len(inner); i++ {
		if inner[i] == '\\' {
			i++
		} else if strings.HasPrefix(inner[i:], `"""`) {
			if inner[i:] != "\"\"\"\n" {
				t.Errorf("%q ends its docstring early: %q, want inner[i:] %q", text, got, "\"\"\"\n")
			}
			return
		}
	}
	t.Errorf("%q does not end its docstring: %q", text, got)
}

func TestHostileText(t *testing.T) {
	for _, text := range rendertest.Hostile {
		for _, text := range []string{text, "a " + text, text + " b", text + text, "x\n" + text + "\ny"} {
			checkComment(t, text)
		}
	}
}

func FuzzComment(f *testing.F) {
	for _, text := range rendertest.Hostile {
		f.Add(text)
	}
	f.Fuzz(checkComment)
}
