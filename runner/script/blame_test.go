package script

import (
	"strings"
	"testing"
	"time"
)

func TestDeepest(t *testing.T) {
	for code, want := range map[string]int{
		"f(g([1]))": 3, "'((' + (x)": 1, `'\'((' + (x)`: 1, "/* ((( */ (x)": 1, "// (((\n(x)": 1, "(x) // (((": 1,
		"/'/.test((x))": 2, "/'/; ((x))\n'((('": 2, "/[/*]/; ((x))": 2, "'((": 2, "it's\n'((('; (x)": 1,
	} {
		if depth, _ := deepest(code); depth != want {
			t.Errorf("%q: %d levels, want %d", code, depth, want)
		}
	}
}

// TestDeepestOfALongLine: each of these took a minute, in the process that serves all runs, and nothing could end it.
func TestDeepestOfALongLine(t *testing.T) {
	for _, code := range []string{strings.Repeat(`\'`, 500_000), strings.Repeat("/* ", 700_000), strings.Repeat("// ", 700_000)} {
		start := time.Now()
		deepest(code)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%.6s: it took %v", code, took)
		}
	}
}
