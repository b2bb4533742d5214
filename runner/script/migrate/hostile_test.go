package migrate

import (
	"strings"
	"testing"
)

// TestHostileScripts reads scripts of a mebibyte that are all one expression or one word: none ends the process, and what is nested too
// deeply for a parser is refused.
func TestHostileScripts(t *testing.T) {
	many := func(text string) string { return strings.Repeat(text, (maxFile-1000)/len(text)) }
	tests := []struct {
		name, text string
		deep       bool
	}{
		{"members.ts", "x" + many(".a"), true},
		{"calls.ts", "x" + many(".a()"), true},
		{"sums.ts", "x = x" + many("+x"), true},
		{"unary.ts", "x = " + many("- ") + "x", true},
		{"words.ts", "x = " + many("void ") + "x", true},
		{"brackets.ts", many("("), true},
		{"mentions.ts", "x = ['é'," + many("x.text,'é',") + "]", false},
		{"calls-in-a-list.ts", "import { f } from './servers/a';\nx = [" + many("f({ id }),") + "]", false},
		{"patterns.ts", "const " + strings.Repeat("{a:", 400) + "b" + strings.Repeat("}", 400) + " = x", false},
		{"imports.ts", strings.Repeat("import{A}from'./servers';", 5_000), false},
		{"comments.ts", many("/* ") + "*/", false},
		{"members.py", "x" + many(".a"), true},
		{"sums.py", "x = x" + many("+x"), true},
		{"targets.py", strings.Repeat("a=", 5_000) + "[" + strings.Repeat("1,", 5_000) + "]", true},
		{"mentions.py", "x = [" + strings.Repeat("x.text,", 20_000) + "]", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			read := readTypeScript
			if strings.HasSuffix(tt.name, ".py") {
				read = func(_, text string) (*source, error) { return readPython(t.Context(), needPython(t), text) }
			}
			_, err := read(tt.name, tt.text)
			switch deep := err != nil && strings.Contains(err.Error(), "nested too deeply"); {
			case tt.deep && err == nil: // Python may also come to the end of its time
				t.Error("reading returned no error, want it to be refused")
			case !tt.deep && deep:
				t.Errorf("reading returned %v, want it to be read", err)
			}
		})
	}
}
