package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

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

// TestFirstOpeningByProcesses checks the same for processes, which write at once.
func TestFirstOpeningByProcesses(t *testing.T) {
	for range 3 {
		path := filepath.Join(t.TempDir(), "state.db")
		storetest.Kill(t, path, opener(t, path), 1)
	}
}

// TestForgotten checks that what was removed is in none of the files.
func TestForgotten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := opener(t, path)()
	for range 700 {
		if _, err := storetest.Append(t.Context(), s, store.Row{Kind: "call"}); err != nil {
			t.Fatal(err)
		}
	}
	has := func(content []byte) bool {
		t.Helper()
		for _, suffix := range []string{"", "-wal"} {
			data, err := os.ReadFile(path + suffix)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(data, content) {
				return true
			}
		}
		return false
	}
	if !has(storetest.Content(650)) {
		t.Fatal("the files do not have the content of row 650")
	}
	if removed, err := s.Forget(t.Context(), 699); err != nil || removed != 699 {
		t.Fatalf("Forget(699) = %d, %v, want 699", removed, err)
	}
	for i := range int64(699) {
		if has(storetest.Content(i)) {
			t.Fatalf("the files still have the content of row %d", i)
		}
	}
	if !has(storetest.Content(699)) {
		t.Error("the files do not have the content of row 699 any more")
	}
}

// TestClosed checks that a closed store answers with errors.
func TestClosed(t *testing.T) {
	s := opener(t, filepath.Join(t.TempDir(), "state.db"))()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	}
	if _, err := storetest.Append(t.Context(), s, store.Row{Kind: "call"}); err == nil {
		t.Error("Extend() of a closed store succeeded, want an error")
	}
	if _, err := s.Size(t.Context()); err == nil {
		t.Error("Size() of a closed store succeeded, want an error")
	}
}

// TestLockedByAnother checks that a write waits for another process's transaction, and stops waiting when its context ends.
func TestLockedByAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := opener(t, path)()
	sqlite.Locked(t, path, func() {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := storetest.Append(ctx, s, store.Row{Kind: "call"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Extend() beside a transaction = %v, want the error of its context", err)
		}
	})
	if _, err := storetest.Append(t.Context(), s, store.Row{Kind: "call"}); err != nil {
		t.Errorf("Extend() after the transaction = %v", err)
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
	if _, err := openPath(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("Open() of a folder = %v, want an error that says so", err)
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
