package typescript

import (
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/render/internal/rendertest"
)

func checkComment(t *testing.T, text string) {
	t.Helper()
	lines := comment(text)
	rendertest.CheckLines(t, text, lines)
	got := docComment("", text)
	if got == "" {
		return
	}
	if i := strings.Index(got, "*/"); i != len(got)-len("*/\n") {
		t.Errorf("%q ends its comment early: %q: got %v, want %v", text, got, i, len(got)-len("*/\n"))
	}
	for _, line := range strings.Split(strings.TrimSuffix(got, "\n"), "\n")[1:] {
		if line != "" && line[0] != ' ' {
			t.Errorf("%q begins a line: %q", text, got)
		}
	}
	lower := strings.ToLower(got)
	for _, mark := range []string{"@ts-", "@__", "#__", "# sourcemapping", "#sourcemapping"} {
		if strings.Contains(lower, mark) {
			t.Errorf("%q keeps %q: %q", text, mark, got)
		}
	}
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
