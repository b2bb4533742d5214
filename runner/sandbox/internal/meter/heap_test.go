package meter

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

func TestHeap(t *testing.T) {
	for text, want := range map[string]bool{
		"FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n": true,
		"JavaScript heap out of memory\n":                                               false,
		"FATAL ERROR: something else\n":                                                 false,
		"FATAL ERROR: x\n" + strings.Repeat("y", 400) + "JavaScript heap out of memory": false,
		// A script that prints the words itself, and then runs out of memory.
		"JavaScript heap out of memory\n" + strings.Repeat("y", 300) + "\nFATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n": true,
		"FATAL ERROR: " + strings.Repeat("y", 240) + "JavaScript heap out of memory":                                                                           true,
		"\n\n#\n# Fatal process out of memory: Worklist::Segment::Create\n#\n":                                                                                 true,
		"FATAL ERROR: Zone Allocation failed - process out of memory\n":                                                                                        true,
		"FATAL ERROR: RegExpCompiler Allocation failed - process out of memory\n":                                                                              false,
	} {
		for _, step := range []int{1, 7, len(text)} {
			var out bytes.Buffer
			w := NewHeap(&out)
			for rest := text; rest != ""; rest = rest[min(step, len(rest)):] {
				w.Write([]byte(rest[:min(step, len(rest))]))
			}
			if w.Ended(134) != want || w.Ended(1) || out.String() != text {
				t.Errorf("%.30q by %d: %v, passed on %v", text, step, w.full, out.String() == text)
			}
		}
	}
}

func TestHeapFlag(t *testing.T) {
	for memory, want := range map[int64]string{0: "357", 8_000_000_000: "5722", 1 << 20: "16"} {
		if got := HeapFlag(sandbox.Limits{Memory: memory}); got != "--max-old-space-size="+want {
			t.Errorf("%d: %s, want %s", memory, got, want)
		}
	}
}
