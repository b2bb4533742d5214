package cli

import (
	"bytes"
	"testing"
)

func TestNeutral(t *testing.T) {
	for in, want := range map[string]string{
		"MCPToolError: größe\n\tat x\r\n":                   "MCPToolError: größe\n\tat x\r\n",
		"\x1b[31mred\x1b[0;1m \x1b[m":                       "\x1b[31mred\x1b[0;1m \x1b[m",
		"\x1b[2J\x1b]0;title\x07\x1b[1;1H\b":                `\x1b[2J\x1b]0;title\x07\x1b[1;1H\x08`,
		"\u009b2J \x1b":                                     `\u009b2J \x1b`,
		"a\u202eb\U000E0041\u115f\u2800 ⚠\ufe0f\u00a0\xe9.": `a\u202eb\U000e0041\u115f\u2800 ` + "⚠\ufe0f\u00a0" + `\xe9.`,
	} {
		for _, step := range []int{len(in), 1} {
			if step == 1 && bytes.Contains([]byte(want), []byte("\x1b")) {
				continue // colours pass in one piece
			}
			var out bytes.Buffer
			w := Neutral(&out)
			for at := 0; at < len(in); at += step {
				if n, err := w.Write([]byte(in[at : at+step])); n != step || err != nil {
					t.Fatalf("Write = %d, %v, want %d and no error", n, err, step)
				}
			}
			if got := out.String(); got != want {
				t.Errorf("Neutral(%q) by %d = %q, want %q", in, step, got, want)
			}
		}
	}
}
