package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
	"github.com/mcpgen/mcpgen/runner/store/storetest"
)

func openPath(ctx context.Context, path string) (store.Store, error) {
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func TestMain(m *testing.M) {
	storetest.Child(openPath)
	os.Exit(m.Run())
}

// opener returns a function that opens the store at a path, and closes it with the test.
func opener(t *testing.T, path string) func() store.Store {
	return func() store.Store {
		s, err := openPath(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("Close() = %v", err)
			}
		})
		return s
	}
}

func TestStore(t *testing.T) {
	storetest.Test(t, func(t *testing.T) func() store.Store { return opener(t, filepath.Join(t.TempDir(), "new", "state.db")) })
}

func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	times := 75
	if testing.Short() {
		times = 5
	}
	storetest.Kill(t, path, opener(t, path), times)
}

// TestFirstOpening checks that those who open a new file at the same time all succeed.
func TestFirstOpening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s, err := openPath(t.Context(), path)
			if err != nil {
				t.Errorf("Open() beside others = %v", err)
				return
			}
			if err := s.Close(); err != nil {
				t.Errorf("Close() = %v", err)
			}
		})
	}
	all.Wait()
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file has the mode %v, %v, want -rw-------", info.Mode(), err)
	}
}

func TestNotOurs(t *testing.T) {
	dir := t.TempDir()
	damaged := filepath.Join(dir, "damaged.db")
	if err := os.WriteFile(damaged, bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openPath(t.Context(), damaged); err == nil || !bytes.Contains([]byte(err.Error()), []byte("damaged, or not a database of mcprun")) {
		t.Errorf("Open() of another file = %v, want an error that says so", err)
	}
	if _, err := openPath(t.Context(), dir); err == nil {
		t.Error("Open() of a folder succeeded, want an error")
	}
	newer := filepath.Join(dir, "newer.db")
	s := opener(t, newer)()
	if _, err := s.SetDocument(t.Context(), &store.Document{Key: store.Key{Kind: "k"}, Value: []byte{}}); err != nil {
		t.Fatal(err)
	}
	sqlite.Exec(t, newer, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)")
	if _, err := openPath(t.Context(), newer); !errors.Is(err, store.ErrNewer) {
		t.Errorf("Open() of a newer file = %v, want ErrNewer", err)
	}
}
