package customer

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// fileState opens the store in a file, and closes it after the test.
func fileStore(t testing.TB, path string) store.Opener {
	t.Helper()
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return func(context.Context) (store.Store, error) { return s, nil }
}

// newState opens a new store.
func newStore(t testing.TB) store.Opener {
	t.Helper()
	return fileStore(t, filepath.Join(t.TempDir(), "state.db"))
}
