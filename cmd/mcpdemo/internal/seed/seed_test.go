package seed

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
)

func TestDirConcurrently(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "data")
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			err := Dir(dir, func(tmp string) error {
				return os.CopyFS(tmp, fstest.MapFS{"x/y.txt": {Data: []byte("hello")}})
			})
			if err != nil {
				t.Error(err)
			}
			// Whoever returns sees the whole folder.
			if got, err := os.ReadFile(filepath.Join(dir, "x", "y.txt")); err != nil || string(got) != "hello" {
				t.Errorf(`got %q, %v, want "hello" and no error`, got, err)
			}
		})
	}
	wg.Wait()
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(entries) != 1 {
		t.Fatalf("left behind: %v, %v, want len(entries) 1 and no error", entries, err)
	}
	if err := Dir(dir, func(string) error { return errors.New("filled twice") }); err != nil {
		t.Error(err)
	}
}

func TestDirFailure(t *testing.T) {
	parent := t.TempDir()
	broken := errors.New("broken")
	if err := Dir(filepath.Join(parent, "data"), func(string) error { return broken }); !errors.Is(err, broken) {
		t.Fatalf("got %v, want %v", err, broken)
	}
	if entries, _ := os.ReadDir(parent); len(entries) != 0 {
		t.Fatalf("left behind: %v, want len(entries) 0", entries)
	}
}
