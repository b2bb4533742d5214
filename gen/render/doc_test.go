package render

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/render/internal/text"
)

func TestLongDescriptionsAreCut(t *testing.T) {
	const mark = "\n… (cut; the whole text is in .mcpgen/a_b.json)"
	tool := Tool{ID: "a_b__c", Name: "c", Description: strings.Repeat("é", 5_000_000), Hints: Hints{ReadOnly: new(true)}}
	got := tool.Doc("c")
	if n := utf8.RuneCountInString(got); n > text.Max+100 || !strings.HasSuffix(got, mark+"\n(read-only)") {
		t.Errorf("the tool's text has %d characters and ends with %q, want at most %d and %q", n, got[len(got)-60:], text.Max+100, mark)
	}
}
