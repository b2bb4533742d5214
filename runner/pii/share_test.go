package pii

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// TestShare: what a share may add is bounded over all its calls, and values that the vault already knew do not count.
func TestShare(t *testing.T) {
	v := newVault(t)
	mustTokenize(t, v, "ann@example.com bob@example.com")
	s := v.Share(3, 1000)
	for _, c := range []struct{ text, want string }{
		{"carl@example.com ann@example.com", "[EMAIL_3] [EMAIL_1]"},
		{"dora@example.com emil@example.com", "[EMAIL_4] [EMAIL_5]"},
		{"fred@example.com", ""},
		{"ann@example.com and emil@example.com", "[EMAIL_1] and [EMAIL_5]"},
		{"[EMAIL_99]", ""}, // the vault did not issue it, so it is kept
	} {
		got, _, err := s.Tokenize(t.Context(), c.text)
		over, ok := errors.AsType[*ShareError](err)
		if got != c.want || (err != nil) != (c.want == "") || ok && (over.Hint() == "" || !strings.Contains(err.Error(), "at most 3 values")) || err != nil && !ok {
			t.Errorf("%q: %q, %v", c.text, got, err)
		}
	}
	if got := mustTokenize(t, v, "fred@example.com"); got != "[EMAIL_6]" {
		t.Errorf(`another caller gets %s, want "[EMAIL_6]"`, got)
	}
	small := v.Share(100, 20)
	if _, _, err := small.TokenizeJSON(t.Context(), json.RawMessage(`["gert@example.com","hans@example.com"]`)); err == nil {
		t.Error("bytes are added without bound: got no error, want an error")
	}
	if _, _, err := small.TokenizeJSON(t.Context(), json.RawMessage(`["gert@example.com"]`)); err != nil {
		t.Errorf("what was refused counts: %v", err)
	}
}

// TestShareEnds: if the caller no longer waits, nothing is stored, even if the wait ends while the vault is sealed.
func TestShareEnds(t *testing.T) {
	v := newVault(t)
	mustTokenize(t, v, "ann@example.com")
	before := len(lines(t, v))
	over := errors.New("the run is over")
	early, end := context.WithCancelCause(t.Context())
	end(over)
	late, end := context.WithCancelCause(t.Context())
	v.Limit(func(int64) error { end(over); return nil }) // it ends after the text was masked
	for name, ctx := range map[string]context.Context{"before": early, "meanwhile": late} {
		if out, _, err := v.Share(10, 1000).Tokenize(ctx, "bob@example.com"); !errors.Is(err, over) {
			t.Errorf("%s: %q, %v, want %v", name, out, err, over)
		}
	}
	if after := len(lines(t, v)); after != before {
		t.Errorf("the log has %d lines, want %d", after, before)
	}
	v.Limit(nil)
	if got := mustTokenize(t, v, "carl@example.com"); got != "[EMAIL_2]" {
		t.Errorf(`got %s, want "[EMAIL_2]"`, got)
	}
}

// TestVaultOwner: a copy of a vault in another owner's place cannot be opened there.
func TestVaultOwner(t *testing.T) {
	v := newVault(t)
	mustTokenize(t, v, "ann@example.com")
	for _, other := range []string{"", "customer beta", "customer acme ", "customer acm"} {
		_, err := OpenVault(t.Context(), v.store, testCustomer, testKey, other)
		if bad, ok := errors.AsType[*VaultError](err); !ok || !errors.Is(err, ErrForeignOwner) || bad.Hint() == "" {
			t.Errorf("%q: %v", other, err)
		}
	}
}
