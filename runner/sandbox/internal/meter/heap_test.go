package meter

import (
	"bytes"
	"strings"
	"testing"
)

func TestHeap(t *testing.T) {
	for text, want := range map[string]bool{
		"FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n": true,
		"JavaScript heap out of memory\n":                                               false,
		"FATAL ERROR: something else\n":                                                 false,
		"FATAL ERROR: x\n" + strings.Repeat("y", 400) + "JavaScript heap out of memory": false,
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
