package safetext

import "testing"

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
		if got := Printable(c.in, c.limit); got != c.want {
			t.Errorf("Printable(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}
