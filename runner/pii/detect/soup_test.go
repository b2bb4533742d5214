package detect

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// pieces are the words and marks that rules look for.
var pieces = []string{"@", "a@b.com", "<", ">", "\n", "\"", "'", ":", "=", "{", "}", "(", ")", "[", "]", ",", ";", "|", "\t", " ", "Name", "name", "Dear", "Mr.", "von", "Jane", "12",
	"Main", "St", "Street", "10115", "Berlin", "From:", "To:", "is", "my name", "Regards", "str.", "Haupt", "rue", "de", "Calle", "王", "市", "区", "1", "号", "Я", "á", "\\", "-", "+1",
	"email", "company", "Box", "PO", "Apt", "3,", "I'm", "this is", "\r\n", "\x00", "\xff", "- ", "* ", "http://", "x", "password", "key", "테헤란로", "구", "〒", "д.", "and", "Flat", ".ra", "bis", "姓名", "：", "，"}

// soup returns random pieces of some size.
func soup(r *rand.Rand, size int) string {
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(pieces[r.IntN(len(pieces))])
		if r.IntN(2) == 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// TestSoup searches random texts of pieces. Matches must be in order, and repeated pieces must take linear time.
func TestSoup(t *testing.T) {
	r := rand.New(rand.NewPCG(30, 2))
	for range 2000 {
		text := soup(r, 1<<10)
		for _, hint := range []Type{"", Name, Company, Address, Phone, party, place, postcode} {
			at := 0
			for _, m := range Find(text, hint) {
				if m.Start < at || m.End <= m.Start || m.End > len(text) {
					t.Fatalf("Find(%q, %q) returned %d to %d after %d", text, hint, m.Start, m.End, at)
				}
				at = m.End
			}
		}
	}
	for range 300 {
		unit := soup(r, 4+r.IntN(40))
		text := strings.Repeat(unit, (1<<16)/len(unit))
		start := time.Now()
		Find(text, "")
		if took := time.Since(start); took > time.Second {
			t.Errorf("%q repeated to 64 KiB took %v, want at most %v", unit, took, time.Second)
		}
	}
}
