package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestWritten(t *testing.T) {
	dir, err := Open(filepath.Join(t.TempDir(), "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "kept.txt"), "same")
	write(t, filepath.Join(dir, "changed.txt"), "old")
	before, err := Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "changed.txt"), "longer")
	write(t, filepath.Join(dir, "sub", "new.csv"), "1")
	write(t, filepath.Join(dir, "servers", "ignored.ts"), "the tree is not the script's work")
	if err := os.Symlink("/etc", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	after, err := Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"changed.txt", "sub/new.csv"}
	if got := Written(before, after); !slices.Equal(got, want) {
		t.Errorf("Written = %q, want %q", got, want)
	}
}

func TestOpenRefusesAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "")
	if _, err := Open(path); err == nil {
		t.Error("Open accepted a file as a workspace")
	}
}
