package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFold(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  []string
	}{
		{"a short line", 40, []string{"a short line"}},
		{"a line that is longer than it may be", 20, []string{"a line that is", "longer than it may", "be"}},
		{"one-word-that-has-no-place-to-break then more", 20, []string{"one-word-that-has-no-place-to-break", "then more"}},
		{"no terminal, or too narrow a one", -25, []string{"no terminal, or too narrow a one"}},
		{"", 40, []string{""}},
	} {
		if got := Fold(c.text, c.width); !slices.Equal(got, c.want) {
			t.Errorf("%q in %d: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

func TestFitTable(t *testing.T) {
	for columns, want := range map[int]string{0: "a long title", 20: "a long…", 18: "a lo…", 16: "B", 11: "A"} {
		out := &bytes.Buffer{}
		app := &App{Stdout: out, Stderr: out, Terminal: Terminal{Stdout: columns > 0, Columns: columns}}
		if err := app.FitTable([]string{"A", "B", "TITLE"}, [][]string{{"12345678", "1", "a long title of it"}}); err != nil {
			t.Fatal(err)
		}
		plain := strings.NewReplacer("\x1b[1m", "", "\x1b[0m", "").Replace(out.String())
		if !strings.Contains(plain, want) {
			t.Errorf("FitTable() in %d columns = %q, want %q in it", columns, plain, want)
		}
		for line := range strings.Lines(plain) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); columns > 0 && n > columns {
				t.Errorf("FitTable() in %d columns has a line of %d: %q", columns, n, line)
			}
		}
	}
}
