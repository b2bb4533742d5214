package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/render/internal/rendertest"
	. "github.com/mcpgen/mcpgen/gen/render/internal/text"
)

func checkQuote(t *testing.T, text string) {
	t.Helper()
	text = strings.ToValidUTF8(text, "\ufffd")
	for _, astral := range []string{Braces, Long} {
		got := Quote(text, astral)
		if back := rendertest.Unquote(t, got); back != text {
			t.Errorf("Quote(%q) = %s, which reads as %q", text, got, back)
		}
		rendertest.CheckLines(t, text, []string{got})
	}
}

func TestHostileText(t *testing.T) {
	for _, text := range rendertest.Hostile {
		for _, text := range []string{text, "a " + text, text + " b", text + text, "x\n" + text + "\ny"} {
			checkQuote(t, text)
		}
	}
}

func FuzzQuote(f *testing.F) {
	for _, text := range rendertest.Hostile {
		f.Add(text)
	}
	f.Fuzz(checkQuote)
}

func TestSummary(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "",
		"Finds documents. And more.": "Finds documents.",
		"One line\nand another":      "One line",
		strings.Repeat("ab ", 50):    "ab ab ab ab ab ab…",
		"\n\n  indented":             "indented",
	} {
		if got := Summary(Lines(text), 18); got != want {
			t.Errorf("Summary(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestLongDescriptionsAreCut(t *testing.T) {
	const mark = "\n… (cut; the whole text is in .mcpgen/a_b.json)"
	text := Field("a", ir.Doc{Description: strings.Repeat("é", 5_000_000)}, false, ".mcpgen/a_b.json")
	if n := utf8.RuneCountInString(text); n > Max+100 || !strings.HasSuffix(text, mark) {
		t.Errorf("the property's text has %d characters and ends with %q, want at most %d and %q at its end", n, text[len(text)-60:], Max+100, mark)
	}
	text = Field("a", ir.Doc{Description: strings.Repeat("word ", 500)}, false, "")
	if !strings.HasSuffix(text, "word word\n… (cut)") {
		t.Errorf("a text without a file ends with %q, want %q at its end", text[len(text)-60:], "word word\n… (cut)")
	}
}

// TestCutKeepsTheResult checks that prose is cut before the description of the result, however long each is.
func TestCutKeepsTheResult(t *testing.T) {
	prose, more := strings.Repeat("prose ", 500), strings.Repeat("id: text\n", 300)
	for _, header := range []string{"Returns:\n    ", "**Returns:** ", "## Returns\n", "Returns\n-------\n", ":return: ", "@returns "} {
		result := header + "the job's id and its state"
		got := Body(prose+"\n\n"+result, "FILE")
		if n := utf8.RuneCountInString(got); n > Max+100 || !strings.Contains(got, "prose\n… (cut; the whole text is in FILE)\n"+result) {
			t.Errorf("%q: %d characters, which end with %q, want at most %d and %q in it", header, n, got[len(got)-120:], Max+100, "prose\n… (cut; the whole text is in FILE)\n"+result)
		}
	}
	got := Body(prose+"\nReturns:\n"+more, "FILE")
	if n := utf8.RuneCountInString(got); n > Max+100 || !strings.Contains(got, "prose\n… (cut; the whole text is in FILE)\nReturns:\nid: text\n") || !strings.HasSuffix(got, "\nid:\n…") && !strings.HasSuffix(got, "\nid: text\n…") {
		t.Errorf("both long: %d characters, %q", n, got)
	}
	got = Body("Short.\nReturns:\n"+more, "FILE")
	if n := utf8.RuneCountInString(got); n < Max-20 || n > Max+100 || !strings.HasPrefix(got, "Short.\nReturns:\n") || !strings.HasSuffix(got, "… (cut; the whole text is in FILE)") {
		t.Errorf("a long result: %d characters, %q", n, got)
	}
}

func TestFieldText(t *testing.T) {
	number := ir.Number{Integer: true}
	for _, tt := range []struct {
		doc  ir.Doc
		typ  ir.Type
		want string
	}{
		{ir.Doc{}, number, "integer"},
		{ir.Doc{Description: "How many"}, number, "How many (integer)"},
		{ir.Doc{Limits: []string{"1..100"}}, number, "integer, 1..100"},
		{ir.Doc{Description: "How many (min 1, max 100)", Limits: []string{"1..100"}}, number, "How many (min 1, max 100) (integer)"},
		{ir.Doc{Description: "From 1 to 10", Limits: []string{"1..100"}}, number, "From 1 to 10 (integer, 1..100)"},
		{ir.Doc{Description: "Page 1 is the first", Limits: []string{">= 1"}}, number, "Page 1 is the first (integer, >= 1)"},
		{ir.Doc{Description: "Sorted. Default is 5", Limits: []string{"default 5"}}, number, "Sorted. Default is 5 (integer)"},
		{ir.Doc{Description: "Between 5 and 7", Limits: []string{"5..7", "default 6"}}, number, "Between 5 and 7 (integer, default 6)"},
		{ir.Doc{Title: "Page Number"}, ir.String{}, ""},
		{ir.Doc{Title: "Another", Deprecated: true}, ir.String{}, "Another (deprecated)"},
	} {
		if got := Field("page_number", tt.doc, IsInteger(tt.typ), ""); got != tt.want {
			t.Errorf("Field(%+v) = %q, want %q", tt.doc, got, tt.want)
		}
	}
}

// TestQuotedOrders checks that no string looks like a directive to programs that do not recognise strings.
func TestQuotedOrders(t *testing.T) {
	const text = "//# sourceMappingURL=x"
	for _, astral := range []string{Braces, Long} {
		got := Quote(text, astral)
		if back := rendertest.Unquote(t, got); strings.Contains(got, "sourceMappingURL") || back != text {
			t.Errorf("Quote(%q) = %s, which reads as %q", text, got, back)
		}
	}
}

func TestSentenceEnd(t *testing.T) {
	for text, want := range map[string]string{
		"One. Two.":                               "One.",
		"Formats, e.g. JSON. More.":               "Formats, e.g. JSON.",
		"Cats, i.e. animals, etc. More. And more": "Cats, i.e. animals, etc. More.",
		"1. Do this. 2. Do that.":                 "1. Do this.",
		"By J. Doe vs. others. More.":             "By J. Doe vs. others.",
		"Version 2.0. More.":                      "Version 2.0.",
		"No end here":                             "No end here",
	} {
		if got := Summary([]string{text}, len(text)); got != want {
			t.Errorf("the first sentence of %q is %q, want %q", text, got, want)
		}
	}
}
