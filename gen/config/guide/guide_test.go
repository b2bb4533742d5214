package guide

import (
	"errors"
	"strings"
	"testing"
)

const paragraph = "## P\n\ntext\n"

const block = Begin + "\n## P\n\ntext\n" + End

func TestUpdate(t *testing.T) {
	cases := map[string]struct {
		text, want string
		state      State
	}{
		"empty":            {"", block + "\n", Absent},
		"with text":        {"# Mine\n\nhello", "# Mine\n\nhello\n\n" + block + "\n", Absent},
		"stale":            {"a\n" + Begin + "\nold\n" + End + "\nb\n", "a\n" + block + "\nb\n", Stale},
		"current":          {"a\n" + block + "\nb", "a\n" + block + "\nb", Current},
		"indented, spaces": {"a\n  " + Begin + " \nold\n  " + End + " \nb\n", "a\n  " + block + " \nb\n", Stale},
		"CRLF":             {"a\r\n" + Begin + "\r\nold\r\n" + End + "\r\n", "a\r\n" + strings.ReplaceAll(block, "\n", "\r\n") + "\r\n", Stale},
	}
	for name, c := range cases {
		got, err := Update(c.text, paragraph)
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
		if state, err := Look(c.text, paragraph); err != nil || state != c.state {
			t.Errorf("%s: state %v, %v", name, state, err)
		}
		again, err := Update(got, paragraph)
		if err != nil || again != got {
			t.Errorf("%s: a second time %q, %v", name, again, err)
		}
	}
}

func TestDamagedMarkers(t *testing.T) {
	for text, line := range map[string]int{
		"a\n" + Begin + "\nb":                           2,
		"a\n\n" + End:                                   3,
		End + "\n" + Begin:                              1,
		Begin + "\n" + Begin + "\n" + End:               2,
		Begin + "\n" + End + "\n" + End:                 3,
		Begin + "\n" + End + "\n" + Begin + "\n" + End:  3,
		"<!-- mcpgen:begin\nx\n" + End:                  1,
		Begin + "\nx\n" + End + " and text on its line": 3,
	} {
		_, err := Update(text, paragraph)
		var bad *MarkerError
		if !errors.As(err, &bad) || bad.Line != line || bad.Hint() == "" || bad.ExitCode() != 2 {
			t.Errorf("%q: error %v, want one of line %d", text, err, line)
		}
		if _, err := Look(text, paragraph); err == nil {
			t.Errorf("%q: Look finds nothing wrong", text)
		}
	}
}

func TestParagraphNamesTheTree(t *testing.T) {
	for _, out := range []string{"gen/tree", "./gen/tree/", `gen\tree`} {
		p := Paragraph(out)
		for _, want := range []string{"`gen/tree/`", `"./gen/tree/<server>/index.ts"`, "mcprun script.ts", "mcpgen sync"} {
			if !strings.Contains(p, want) {
				t.Errorf("%q: the paragraph lacks %s", out, want)
			}
		}
	}
}
