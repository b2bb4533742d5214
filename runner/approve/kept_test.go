package approve

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// newState returns a new state, which ends with the test.
func newState(t *testing.T) store.Store {
	t.Helper()
	return openState(t, filepath.Join(t.TempDir(), "state.db"))
}

func openState(t *testing.T, path string) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// keptIn returns what is kept in a state, under a secret.
func keptIn(t *testing.T, s store.Store, secret string, ring Keyring) *Kept {
	t.Helper()
	return NewKept(KeptOptions{
		State: func(context.Context) (store.Store, error) { return s, nil }, Secret: func() ([]byte, error) { return []byte("under the key of " + secret), nil },
		Ring: ring, Say: func(line string) { t.Log(line) },
	})
}

// TestMAC: plans in files of earlier versions, and their values, have these codes.
func TestMAC(t *testing.T) {
	k := keptIn(t, nil, "secret", nil)
	if err := k.keys(); err != nil {
		t.Fatal(err)
	}
	for want, parts := range map[string][]string{
		"hi42HvXaj1VDcvq-9ke365dh3EKkscz23L4rdTdRpNA": {"plan", `{"id":"abc"}`},
		"H2hTV-TPAri31s4FFMUlGSK_Kr5fkAlECDguzJa65GY": {"value", "crm__send", "to", "eve\n"},
	} {
		if got := k.mac(parts...); got != want {
			t.Errorf("mac(%q) = %s, want %s", parts, got, want)
		}
	}
}
