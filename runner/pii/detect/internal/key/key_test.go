package key_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/char"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/key"
)

// first returns the first match as a type and its text.
func first(text string) string {
	matches := detect.Find(text, "")
	if len(matches) == 0 {
		return ""
	}
	return string(matches[0].Type) + " " + text[matches[0].Start:matches[0].End]
}

// The keys are random: literal ones would alarm scanners for leaked keys.
func TestKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	body := func(set *key.Charset, n int) string {
		const all = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-"
		for {
			b := make([]byte, 0, n)
			for len(b) < n {
				if c := all[r.IntN(len(all))]; set[c] && !(set['a'] && !set['g'] && char.IsUpper(c)) {
					b = append(b, c)
				}
			}
			if key.IsRandom(string(b)) && char.IsAlnum(b[n-1]) {
				return string(b)
			}
		}
	}
	for _, f := range key.Forms() {
		key := f.Prefix + body(f.Alphabet, f.Min)
		for _, text := range []string{key, "key=" + key, "use " + key + ".", `"` + key + `",`} {
			if got, want := first(text), "API_KEY "+key; got != want {
				t.Errorf("Find(%q) = %q, want %q", text, got, want)
			}
		}
		if text := f.Prefix + body(f.Alphabet, f.Min-1) + " "; f.Prefix != "ghs_" && first(text) != "" {
			t.Errorf("Find(%q) = %q, want nothing in a short key", text, first(text))
		}
		if text := "x" + key; char.IsAlnum(f.Prefix[0]) && !strings.Contains(key[:8], "-") && first(text) != "" {
			t.Errorf("Find(%q) = %q, want nothing in another word", text, first(text))
		}
	}
	alnum := key.Charsets["alnum"]
	jwt := "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0." + body(key.URLSet, 43)
	pem := "-----BEGIN RSA " + "PRIVATE KEY-----\n" + body(alnum, 64) + "\n-----END RSA PRIVATE KEY-----"
	for _, key := range []string{jwt, pem, "12345678:AA" + body(key.URLSet, 33), "sk-ant-api03-" + body(key.URLSet, 93) + "AA", "sk-proj-" + body(key.URLSet, 120), "Bearer " + body(alnum, 30)} {
		if got, want := first("is "+key+" fine"), "API_KEY "+key; got != want {
			t.Errorf("Find = %q, want %q", got, want)
		}
	}
	// A marker without a key does not hide the code after it. A truncated key is hidden up to where it ends.
	begin, end := "-----BEGIN "+"PRIVATE KEY-----", "-----END "+"PRIVATE KEY-----"
	indented, escaped := begin+"\n  "+body(alnum, 64)+"\n  "+body(alnum, 30), begin+`\n`+body(alnum, 64)
	for text, want := range map[string]string{
		"// " + begin + "\nimport { update } from \"./servers/crm\";\nupdate();\n": begin,
		"// " + begin + "\nupdate();\n// " + end:                                   begin,
		"key: |\n  " + indented:                                                    indented,
		`"` + escaped + `" + more()`:                                               escaped,
	} {
		if got := first(text); got != "API_KEY "+want {
			t.Errorf("Find(%q) = %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"sk-learn-contrib-extensions", "npm_config_registry_and_something_long", "bearer of bad news and other things", "key-value-store", "eyJ.eyJ.x",
		"task-" + body(alnum, 30), "hf_transfer", "-----BEGIN CERTIFICATE-----", "sk-aaaaaaaaaaaaaaaaaaaaaaaaaa1"} {
		if got := first(text); got != "" {
			t.Errorf("Find(%q) = %q, want nothing", text, got)
		}
	}
}
