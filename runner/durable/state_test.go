package durable

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/postgres"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

// openStore opens the store of a state.
func openStore(ctx context.Context, state string) (store.Store, error) {
	if !isFile(state) {
		return postgres.Open(ctx, state)
	}
	return sqlite.Open(ctx, state, sqlite.Options{})
}

// newState makes a state in a file, and opens its store.
func newState(t testing.TB) Options {
	t.Helper()
	return stateAt(t, filepath.Join(t.TempDir(), "state.db"))
}

func stateAt(t testing.TB, state string) Options {
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
func eachState[T interface {
	testing.TB
	Run(string, func(T)) bool
}](t T, test func(T, Options)) {
	t.Run("sqlite", func(t T) { test(t, newState(t)) })
	t.Run("postgres", func(t T) { test(t, stateAt(t, pgtest.Database(t))) })
}

func isFile(state string) bool { return !strings.HasPrefix(state, "postgres:") }
