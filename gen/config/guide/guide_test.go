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
		found      bool
	}{
		"empty":            {"", block + "\n", false},
		"with text":        {"# Mine\n\nhello", "# Mine\n\nhello\n\n" + block + "\n", false},
		"stale":            {"a\n" + Begin + "\nold\n" + End + "\nb\n", "a\n" + block + "\nb\n", true},
		"current":          {"a\n" + block + "\nb", "a\n" + block + "\nb", true},
		"indented, spaces": {"a\n  " + Begin + " \nold\n  " + End + " \nb\n", "a\n  " + block + " \nb\n", true},
		"CRLF":             {"a\r\n" + Begin + "\r\nold\r\n" + End + "\r\n", "a\r\n" + strings.ReplaceAll(block, "\n", "\r\n") + "\r\n", true},
	}
	for name, c := range cases {
		got, found, err := Update(c.text, paragraph)
		if err != nil || got != c.want || found != c.found {
			t.Errorf("%s: Update() = %q, %t, %v; want %q, %t", name, got, found, err, c.want, c.found)
		}
		again, _, err := Update(got, paragraph)
		if err != nil || again != got {
			t.Errorf("%s: a second time %q, %v", name, again, err)
		}
	}
}

func TestDamagedMarkers(t *testing.T) {
	for _, text := range []string{
		"a\n" + Begin + "\nb",
		"a\n\n" + End,
		End + "\n" + Begin,
		Begin + "\n" + Begin + "\n" + End,
		Begin + "\n" + End + "\n" + End,
		"<!-- mcpgen:begin\nx\n" + End,
	} {
		_, _, err := Update(text, paragraph)
		var bad *MarkerError
		if !errors.As(err, &bad) || bad.Hint() == "" || bad.ExitCode() != 2 {
			t.Errorf("Update(%q) = %v, want a MarkerError", text, err)
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
