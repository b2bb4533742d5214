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
		State: func(context.Context) (store.Store, error) { return s, nil }, Secret: func() ([]byte, error) { return []byte(secret), nil },
		Ring: ring, Say: func(line string) { t.Log(line) },
	})
}
