package detect

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLinear scans repetitive texts that tempt a scanner to examine everything again and again.
func TestLinear(t *testing.T) {
	for _, piece := range []string{"@", "a@", "a@a.", "eyJ-", "eyJ.ey", "sk-", "1.", "1 ", "1-", "+1", "+49 ", "a:", "2001:", "://a:b", "bearer ", "(212) ", "-----BEGIN ",
		"-----BEGIN PRIVATE KEY-----", "x.", "AKIA", "4111 ", "12345678:AA", "ya29.", "password=", "\\", "é", "\xff",
		`"a"@`, "<a@b.com>", "ssh -a a@b.com ", "tel 1", "tel (", "key is a1", "1.2.3.4, ", "a:1.2.3.4", "## 1.2.3.4 ", "password=&", "1 (212)", "电话1234567",
		"2125550123 or ", "<password>a1", `"key" value="`, "--token ", "password for the x: ", "AKIAABCDEFGHIJ234567 ", "0123/", "01 02 03 04 05 ", "+=@",
		"Dear ", "Dear Mr. Dr. ", "From: Jane Doe, ", "To: A B; ", "\nName: J\n", "Name: ", "name: a\n", "my name is ", "is ", "Regards,\n\n", "Jane Doe <", "<a@b.com> (",
		"Jane Jane ", "von ", "12 Main ", "1 A ", "12 rue de ", "Calle A B C D 1 ", "Haupt Haupt 5, ", "12 Main St, A B, ", "1 Street, 10115 A ", "name,email\n",
		"a,b\n", "|name|a|\n|-|\n", "name\temail\nJane\tx", "  a", "a  b\n", "│name│", "name  email\n", "\"", "\",\"", "王", "Ян ", "name: 'a', ", "name=\"J\" ", "{name: \"J\"} ", "{\"name\": \"J\", "} {
		text := strings.Repeat(piece, (1<<18)/len(piece))
		start := time.Now()
		Find(text, "")
		if took := time.Since(start); took > 4*time.Second {
			t.Errorf("%q repeated to 256 KiB took %v, want at most %v", piece, took, 4*time.Second)
		}
	}
}

// TestLinearWithoutSpaces scans a text without spaces: words before a number are only looked for nearby.
func TestLinearWithoutSpaces(t *testing.T) {
	const piece = "tim\tat\t5551234567\t"
	text := strings.Repeat(piece, (2<<20)/len(piece))
	start := time.Now()
	Find(text, "")
	if took := time.Since(start); took > 10*time.Second { // it once took 34 s
		t.Errorf("2 MiB took %v, want at most %v", took, 10*time.Second)
	}
}

func FuzzFind(f *testing.F) {
	f.Add("a@b.com +1 212 555 0123 4111 1111 1111 1111 (212) 555-0123 2001:db8::1 eyJ.eyJ.x -----BEGIN PRIVATE KEY-----")
	f.Add("postgres://a:b@c")
	f.Fuzz(func(t *testing.T, text string) {
		at := 0
		for _, m := range Find(text, "") {
			if m.Start < at || m.End <= m.Start || m.End > len(text) {
				t.Fatalf("Find returned %d to %d after %d", m.Start, m.End, at)
			}
			at = m.End
		}
	})
}

func TestMerge(t *testing.T) {
	for _, tt := range []struct{ first, second, want []Match }{
		{nil, nil, nil},
		{[]Match{{0, 4, Name}}, []Match{{5, 9, Email}}, []Match{{0, 4, Name}, {5, 9, Email}}},
		{[]Match{{0, 4, Name}}, []Match{{0, 4, Email}, {6, 8, IP}}, []Match{{0, 4, Name}, {6, 8, IP}}},
		{[]Match{{2, 4, Name}}, []Match{{0, 9, Email}}, []Match{{0, 9, Email}}},
		{[]Match{{0, 3, Name}, {4, 9, Name}}, []Match{{2, 8, Email}}, []Match{{2, 8, Email}}},
		{[]Match{{3, 9, Name}}, []Match{{0, 4, Email}, {5, 7, IP}}, []Match{{3, 9, Name}}},
	} {
		if got := Merge(tt.first, tt.second); !slices.Equal(got, tt.want) {
			t.Errorf("Merge(%v, %v) = %v, want %v", tt.first, tt.second, got, tt.want)
		}
	}
}
