package ident_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/ident"
)

func TestClean(t *testing.T) {
	for _, c := range []struct{ in, text, line string }{
		{"plain text", "plain text", "plain text"},
		{"two\nlines", "two\nlines", "two lines"},
		{"a\r\nb\rc\u2028d\u2029e\u0085f\vg\fh", "a\nb\nc\nd\ne\nf\ng\nh", "a b c d e f g h"},
		{"\x1b[31mred\x1b]0;title\x07", "[31mred]0;title", "[31mred]0;title"},
		{"a\u202eb\u2066c\u200fd", "abcd", "abcd"},
		{"a\U000E0041\U000E007Fb", "ab", "ab"},
		{"a\u200bb\u200dc\u2060d\ufeffe\u00adf", "abcdef", "abcdef"},
		{"a\u3164b\u2800c\ufe0fd\U000E0100e", "abcde", "abcde"},
		{"a\u00a0b\u3000c\td", "a b c  d", "a b c d"},
		{"\xff\xfe bad \x00", " bad ", "bad"},
		{"Grüße, 世界 ⚠ 😀", "Grüße, 世界 ⚠ 😀", "Grüße, 世界 ⚠ 😀"},
	} {
		if got := ident.CleanText(c.in); got != c.text {
			t.Errorf("CleanText(%q) = %q, want %q", c.in, got, c.text)
		}
		if got := ident.CleanLine(c.in); got != c.line {
			t.Errorf("CleanLine(%q) = %q, want %q", c.in, got, c.line)
		}
	}
}

func TestCleanName(t *testing.T) {
	for in, want := range map[string]string{
		"data/leads.csv": "data/leads.csv", "größe 😀.txt": "größe 😀.txt", `a"b`: `a"b`,
		"a\nb": `"a\nb"`, "a\u202eb": `"a\u202eb"`, "\U000E0041": `"\U000e0041"`, `"quoted"`: `"\"quoted\""`, "a\ufe0f": `"a\ufe0f"`,
	} {
		if got := ident.CleanName(in); got != want {
			t.Errorf("CleanName(%q) = %s, want %s", in, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\u202eb\r\n\U000E0041")
	f.Fuzz(func(t *testing.T, s string) {
		text, line, name := ident.CleanText(s), ident.CleanLine(s), ident.CleanName(s)
		if !utf8.ValidString(text) || ident.CleanText(text) != text || strings.Contains(line, "\n") {
			t.Errorf("CleanText(%q) = %q, CleanLine = %q, want valid text that stays the same, and one line", s, text, line)
		}
		for _, r := range text + line + name {
			if r != '\n' && !ident.Visible(r) {
				t.Errorf("cleaned %q contains %U, want visible characters only", s, r)
			}
		}
		if strings.HasPrefix(name, `"`) {
			if back, err := strconv.Unquote(name); err != nil || back != s {
				t.Errorf("Unquote(CleanName(%q)) = Unquote(%s) = %q, %v, want the name", s, name, back, err)
			}
		} else if name != s {
			t.Errorf("CleanName(%q) = %s, want it unchanged", s, name)
		}
	})
}

func TestPrintable(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"plain", 10, "plain"},
		{"two\nlines\tand a tab", 100, "two lines and a tab"},
		{"\x1b[31mred\x07\u009b", 100, "[31mred"},
		{"a\u2028b", 100, "ab"},
		{"éé", 3, "é…"},
		{"", 0, ""},
	} {
		if got := ident.Printable(c.in, c.limit); got != c.want {
			t.Errorf("Printable(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}

func TestUnseen(t *testing.T) {
	for r, want := range map[rune]bool{'a': false, ' ': false, 'é': false, '\n': true, 0x7f: true, 0x9b: true, 0x200b: true, 0x202e: true, 0x2028: true} {
		if got := ident.Unseen(r); got != want {
			t.Errorf("Unseen(%q) = %v, want %v", r, got, want)
		}
	}
}
