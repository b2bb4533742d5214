package pii

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPeek: a text that is kept has the tokens of values that the vault has, and adds none to it.
func TestPeek(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vault")
	v, err := OpenVault(path, make([]byte, keySize), "")
	if err != nil {
		t.Fatal(err)
	}
	o := NewOutlet(func() (*Vault, error) { return v, nil }, OutletSettings{})
	o.Mask("ann@example.org")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
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
	after, err := os.ReadFile(path)
	if err != nil || string(after) != string(before) {
		t.Errorf("the vault has changed, %v", err)
	}
	if got, want := o.Peek().Mask("eve@example.org"), "[EMAIL #1]"; got != want {
		t.Errorf("another view: %s, want %s", got, want)
	}
	broken := NewOutlet(func() (*Vault, error) { return nil, os.ErrPermission }, OutletSettings{})
	if got, want := broken.Peek().Mask("eve@example.org"), "[EMAIL #1]"; got != want || broken.Trouble() != nil {
		t.Errorf("without a vault: %s, want %s and no trouble", got, want)
	}
}
