package pii

import (
	"encoding/json"
	"testing"
)

func FuzzVault(f *testing.F) {
	f.Add(`{"password":"x","a":["a@b.com",4111111111111111,"{\"b\":\"+49 30 901820\"}"]}`)
	f.Add("[EMAIL_1] a@b.com [LITERAL_1]")
	f.Fuzz(func(t *testing.T, text string) {
		v := newVault(t)
		mustTokenize(t, v, "x@y.com 4111111111111111 [LITERAL_7]")
		out := mustTokenize(t, v, text)
		back, err := v.Restore(out)
		if err != nil || back != text {
			t.Fatalf("%q becomes %q, which becomes %q, %v", text, out, back, err)
		}
		if json.Valid([]byte(text)) {
			raw, _, err := v.TokenizeJSON(json.RawMessage(text))
			if err != nil || !json.Valid(raw) {
				t.Fatalf("%q becomes %q, %v", text, raw, err)
			}
			if again, err := v.RestoreJSON(raw); err != nil || string(again) != text {
				t.Fatalf("%q becomes %q, which becomes %q, %v", text, raw, again, err)
			}
		}
	})
}
