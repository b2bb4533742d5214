package pii

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
	"github.com/mcpgen/mcpgen/runner/pii/internal/rawjson"
)

// randomValues is the number of values in an ordinary run; RANDOM_VALUES=1000000 sets another.
const randomValues = 20_000

// TestRandomValues tokenizes random JSON values and restores them, through a vault and through an outlet: each byte comes back.
func TestRandomValues(t *testing.T) {
	want := randomValues
	if n, err := strconv.Atoi(os.Getenv("RANDOM_VALUES")); err == nil {
		want = n
	}
	start, documents, found := time.Now(), 0, 0
	r := &randomJSON{Rand: rand.New(rand.NewPCG(1, 2))}
	var v *Vault
	var o *Outlet
	for r.values < want {
		if v == nil || len(v.ledger.entries) > 5_000 {
			v = newVault(t)
			o = NewOutlet(func() (*Vault, error) { return v, nil }, OutletSettings{Fields: map[string]Type{"ref": detect.Name, "never": ""}})
		}
		var b strings.Builder
		b.WriteByte('[')
		for n := range 1 + r.IntN(150) {
			if n > 0 {
				b.WriteByte(',')
			}
			r.write(&b, 0)
		}
		b.WriteByte(']')
		raw := b.String()
		documents++
		tokens, counts, err := v.TokenizeJSON(json.RawMessage(raw))
		if err != nil || !json.Valid(tokens) {
			t.Fatalf("%s becomes %s, %v", raw, tokens, err)
		}
		for _, n := range counts {
			found += n
		}
		if back, err := v.RestoreJSON(tokens); err != nil || string(back) != raw {
			t.Fatalf("a vault: %s: %v", difference(raw, string(back), string(tokens)), err)
		}
		masked := o.MaskForeign([]byte(raw))
		if back, err := o.Restore(masked); err != nil || string(back) != raw || !json.Valid(masked) {
			t.Fatalf("an outlet: %s: %v", difference(raw, string(back), string(masked)), err)
		}
		// Beside a token, more may be found the second time. That adds tokens and changes none.
		if back, err := o.Restore(o.MaskJSON(masked)); err != nil || string(back) != raw {
			t.Fatalf("masked again: %s: %v", difference(raw, string(back), string(masked)), err)
		}
		if err := o.Trouble(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d values in %d documents, %d of personal data, in %v", r.values, documents, found, time.Since(start).Round(time.Second))
	if found < want/20 {
		t.Errorf("%d values were found in %d, want more: the test says little", found, r.values)
	}
}

// randomJSON writes random JSON, in which much looks like personal data, tokens and JSON, and is written in unusual ways.
type randomJSON struct {
	*rand.Rand
	values int
}

func (r *randomJSON) of(list ...string) string { return list[r.IntN(len(list))] }

func (r *randomJSON) space() string { return r.of("", "", "", "", " ", "\n", "\t ", "\r\n") }

func (r *randomJSON) write(b *strings.Builder, depth int) {
	r.values++
	b.WriteString(r.space())
	defer func() { b.WriteString(r.space()) }()
	switch n := r.IntN(12); {
	case n < 2 && depth < 4:
		b.WriteByte('{')
		for i := range r.IntN(5) {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(r.space())
			name := r.of("name", "company", "email", "phone", "password", "id", "card", "fullName", "address", "ref", "never", "notes", "n\n", "")
			if r.IntN(8) == 0 {
				name = r.text()
			}
			r.writeString(b, name)
			b.WriteString(r.space() + ":")
			r.write(b, depth+1)
		}
		b.WriteByte('}')
	case n < 3 && depth < 4:
		b.WriteByte('[')
		for i := range r.IntN(4) {
			if i > 0 {
				b.WriteByte(',')
			}
			r.write(b, depth+1)
		}
		b.WriteByte(']')
	case n < 5:
		b.WriteString(r.of("null", "true", "false", "0", "-0", "1.50", "-1e400", "9007199254740993", "4111111111111111", "2125550123", "536228726", "1E+2"))
	case n < 6 && depth < 4:
		var in strings.Builder
		r.write(&in, depth+1)
		r.writeString(b, r.of("", "", "see ", "{", "[\"x\" ")+in.String()+r.of("", "", " there", "}", "\n"))
	default:
		var text string
		for range 1 + r.IntN(4) {
			text += r.text() + r.of(" ", "", "", ", ", "\n", "\"", ": ")
		}
		r.writeString(b, text)
	}
}

func (r *randomJSON) text() string {
	n := r.IntN(50)
	return r.of(fmt.Sprintf("u%d@example.com", n), fmt.Sprintf("+1 212-555-01%02d", n), "4111111111111111", "536-22-8726", "203.0.113.7", "DE89370400440532013000",
		"password=hunter2x", "api_key: abcdef0123456789abcd", "AKIAIOSFODNN7EXAMPLE", "Ann Miller", "Dear Mr. Ülker Demirören,", "Fjordkraft Handel AS", "Apple", "12 Main Street",
		fmt.Sprintf("[EMAIL_%d]", n), fmt.Sprintf("[NAME_%d]", n), "[LITERAL_1]", "[CARD_1]", "[EMAIL]", "[SECRET_", "[[", "]", "{", "}", `{"a":`, `"`, `\`, `\u0040`, "\\\"",
		"\xed\xa0\x80", "\xed\xb0\x80", "é", "😀", "漢字", "\u2028", "\x00", "\x1f", "\x7f", "plain words", "a", "",
		"-----BEGIN PRIVATE "+"KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE "+"KEY-----")
}

// writeString writes a string with its characters, or with escapes for some of them. Halves of surrogate pairs are always escaped.
func (r *randomJSON) writeString(b *strings.Builder, text string) {
	unusual := r.IntN(3) == 0
	b.WriteByte('"')
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == 0xed && i+2 < len(text) && text[i+1] >= 0xa0:
			b.WriteString(rawjson.Escape(text[i : i+3]))
			i += 2
		case unusual && c < 0x80 && r.IntN(6) == 0:
			fmt.Fprintf(b, r.of(`\u%04x`, `\u%04X`), c)
		case unusual && c == '/':
			b.WriteString(`\/`)
		default:
			b.WriteString(rawjson.Escape(text[i : i+1]))
		}
	}
	b.WriteByte('"')
}

// difference shows where two texts begin to differ, and that place in a third if it can be found.
func difference(want, got, other string) string {
	i := 0
	for i < len(want) && i < len(got) && want[i] == got[i] {
		i++
	}
	near := func(s string) string { return s[min(len(s), max(0, i-300)):min(len(s), i+200)] }
	return fmt.Sprintf("at byte %d\n got %q\nwant %q\nfrom %q", i, near(got), near(want), near(other))
}
