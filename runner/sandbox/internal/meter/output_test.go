package meter

import (
	"strings"
	"testing"
)

// TestLateOutput checks that output printed before the other stream was flooded is kept even if it is read later.
func TestLateOutput(t *testing.T) {
	over := 0
	o := NewOutput(100, func() { over++ })
	var stdout, stderr strings.Builder
	out, err := o.Writer(&stdout), o.Writer(&stderr)
	write := func(w interface{ Write([]byte) (int, error) }, n int) {
		if _, e := w.Write([]byte(strings.Repeat("x", n))); e != nil {
			t.Error(e)
		}
	}
	write(err, 150)
	write(err, 10)
	write(out, 20)
	write(out, 70)
	write(out, 30)
	if stderr.Len() != 100 || stdout.Len() != 100 || over != 1 || !o.Hit() {
		t.Errorf("%d bytes of the flood, %d of the other; told %d times", stderr.Len(), stdout.Len(), over)
	}
}
