package drive

import (
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"
)

func TestTranscript(t *testing.T) {
	text := transcript()
	if text != transcript() {
		t.Fatal("two transcripts differ")
	}
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	n, err := codec.Count(text)
	if err != nil || n < 45_000 || n > 55_000 {
		t.Errorf("the transcript has %d tokens, %v", n, err)
	}
	t.Logf("%d tokens, %d words", n, len(strings.Fields(text)))
	if i := strings.IndexAny(text, "${}|"); i >= 0 {
		t.Errorf("something was not expanded: %q", text[max(0, i-60):i+60])
	}
	// A long turn that is heard twice would give the generation away.
	seen := map[string]int{}
	for line := range strings.Lines(text) {
		_, said, _ := strings.Cut(line, ": ")
		if len(said) > 120 {
			seen[said]++
		}
	}
	for said, times := range seen {
		if times > 4 {
			t.Errorf("said %d times: %s", times, said)
		}
	}
}
