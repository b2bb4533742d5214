package durable

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// openStore opens the store of a state.
func openStore(ctx context.Context, state string) (store.Store, error) {
	return sqlite.Open(ctx, state, sqlite.Options{})
}

// newState makes a state in a file, and opens its store.
func newState(t *testing.T) Options {
	t.Helper()
	return stateAt(t, filepath.Join(t.TempDir(), "state.db"))
}

func stateAt(t *testing.T, state string) Options {
	t.Helper()
	s, err := openStore(t.Context(), state)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return Options{State: state, Store: s}
}

// eachState runs a test on each kind of database.
func eachState(t *testing.T, test func(*testing.T, Options)) {
	t.Run("sqlite", func(t *testing.T) { test(t, newState(t)) })
}

func isFile(state string) bool { return !strings.HasPrefix(state, "postgres:") }
