package pii

import (
	"os"
	"testing"
)

// TestPeek: a text that is kept has the tokens of values that the vault has, and adds none to it.
func TestPeek(t *testing.T) {
	v := newVault(t)
	o := NewOutlet(func() (*Vault, error) { return v, nil }, OutletSettings{})
	o.Mask("ann@example.org")
	before := len(lines(t, v))
	peek := o.Peek()
	for range 2 {
		got := peek.Mask("ann@example.org, bob@example.org, eve@example.org, [EMAIL_1], [EMAIL_9]")
		if want := "[EMAIL_1], [EMAIL #1], [EMAIL #2], [EMAIL_1], [LITERAL #1]"; got != want {
			t.Errorf("Mask() = %s, want %s", got, want)
		}
		got = string(peek.For("list_contacts").With(nil).MaskJSON([]byte(`{"to":"bob@example.org","phone":14155550132,"name":"Ann Smith"}`)))
		if want := `{"to":"[EMAIL #1]","phone":"[PHONE #1]","name":"[NAME #1]"}`; got != want {
			t.Errorf("MaskJSON() = %s, want %s", got, want)
		}
		if again := peek.MaskJSON([]byte(got)); string(again) != got {
			t.Errorf("masked again: %s, want %s", again, got)
		}
	}
	if after := len(lines(t, v)); after != before {
		t.Errorf("the log has %d lines, want %d", after, before)
	}
	if got, want := o.Peek().Mask("eve@example.org"), "[EMAIL #1]"; got != want {
		t.Errorf("another view: %s, want %s", got, want)
	}
	broken := NewOutlet(func() (*Vault, error) { return nil, os.ErrPermission }, OutletSettings{})
	if got, want := broken.Peek().Mask("eve@example.org"), "[EMAIL #1]"; got != want || broken.Trouble() != nil {
		t.Errorf("without a vault: %s, want %s and no trouble", got, want)
	}
}
