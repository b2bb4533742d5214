package detect

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// first returns the first match as a type and its text.
func first(text string) string {
	matches := Find(text, "")
	if len(matches) == 0 {
		return ""
	}
	return string(matches[0].Type) + " " + text[matches[0].Start:matches[0].End]
}

// The keys are random: literal ones would alarm scanners for leaked keys.
func TestKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	body := func(set *charset, n int) string {
		const all = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-"
		for {
			b := make([]byte, 0, n)
			for len(b) < n {
				if c := all[r.IntN(len(all))]; set[c] && !(set['a'] && !set['g'] && isUpper(c)) {
					b = append(b, c)
				}
			}
			if random(string(b)) && isAlnum(b[n-1]) {
				return string(b)
			}
		}
	}
	for _, forms := range keyForms() {
		for _, f := range forms {
			key := f.prefix + body(f.alphabet, f.min)
			for _, text := range []string{key, "key=" + key, "use " + key + ".", `"` + key + `",`} {
				if got, want := first(text), "API_KEY "+key; got != want {
					t.Errorf("Find(%q) = %q, want %q", text, got, want)
				}
			}
			if text := f.prefix + body(f.alphabet, f.min-1) + " "; f.prefix != "ghs_" && first(text) != "" {
				t.Errorf("Find(%q) = %q, want nothing in a short key", text, first(text))
			}
			if text := "x" + key; isAlnum(f.prefix[0]) && !strings.Contains(key[:8], "-") && first(text) != "" {
				t.Errorf("Find(%q) = %q, want nothing in another word", text, first(text))
			}
		}
	}
	alnum := charsets["alnum"]
	jwt := "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0." + body(urlSet, 43)
	pem := "-----BEGIN RSA " + "PRIVATE KEY-----\n" + body(alnum, 64) + "\n-----END RSA PRIVATE KEY-----"
	for _, key := range []string{jwt, pem, "12345678:AA" + body(urlSet, 33), "sk-ant-api03-" + body(urlSet, 93) + "AA", "sk-proj-" + body(urlSet, 120), "Bearer " + body(alnum, 30)} {
		if got, want := first("is "+key+" fine"), "API_KEY "+key; got != want {
			t.Errorf("Find = %q, want %q", got, want)
		}
	}
	for _, text := range []string{"sk-learn-contrib-extensions", "npm_config_registry_and_something_long", "bearer of bad news and other things", "key-value-store", "eyJ.eyJ.x",
		"task-" + body(alnum, 30), "hf_transfer", "-----BEGIN CERTIFICATE-----", "sk-aaaaaaaaaaaaaaaaaaaaaaaaaa1"} {
		if got := first(text); got != "" {
			t.Errorf("Find(%q) = %q, want nothing", text, got)
		}
	}
}

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
