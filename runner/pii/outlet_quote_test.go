package pii

import "testing"

func TestQuote(t *testing.T) {
	vault := newVault(t)
	o := NewOutlet(func() (*Vault, error) { return vault, nil }, OutletSettings{})
	if got := o.Mask("ann@example.com"); got != "[EMAIL_1]" {
		t.Fatalf("Mask() = %q", got)
	}
	for _, c := range []struct{ in, want string }{
		{`{"to":"bob@example.com","n":[1,2]}`, `{"to":"bob@example.com","n":[1,2]}`},
		{`{"to":"[EMAIL_1]"}`, `{"to":"[LITERAL_1]"}`},
		{`["{\"to\":\"[EMAIL_1] [EMAIL_2]\"}"]`, `["{\"to\":\"[LITERAL_1] [LITERAL_2]\"}"]`},
		{`{"[EMAIL_1]":"\u005bEMAIL_1]"}`, `{"[LITERAL_1]":"[LITERAL_3]"}`},
		{`no record of [EMAIL_1], bob@example.com`, `no record of [LITERAL_1], bob@example.com`},
	} {
		if got := string(o.Quote([]byte(c.in))); got != c.want {
			t.Errorf("Quote(%s) = %s, want %s", c.in, got, c.want)
		}
	}
	if got, err := o.Restore([]byte(`{"to":"[LITERAL_1]"}`)); err != nil || string(got) != `{"to":"[EMAIL_1]"}` {
		t.Errorf("Restore() = %s, %v, want the text that the server sent", got, err)
	}
}
