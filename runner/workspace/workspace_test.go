package workspace

import (
	"errors"
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
		t.Error("Open accepted a file as a workspace: got no error, want an error")
	}
}

// TestOpenRefusesTheRoot checks that Open refuses the root under each of its names, and does not change it.
func TestOpenRefusesTheRoot(t *testing.T) {
	dir := t.TempDir()
	root := filepath.VolumeName(dir) + string(filepath.Separator)
	names := []string{root, root + "." + root, filepath.Join(root, "a", "..")}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(root, link); err == nil { // on Windows, few users may create one
		names = append(names, link, link+"/.", filepath.Join(dir, "more"))
		if err := os.Symlink(link, filepath.Join(dir, "more")); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.Stat(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		var refused *RootError
		if got, err := Open(name); !errors.As(err, &refused) || refused.Hint() == "" {
			t.Errorf("Open(%s) = %q, %v, want a *RootError", name, got, err)
		}
	}
	if after, err := os.Stat(root); err != nil || after.Mode() != before.Mode() {
		t.Errorf("the mode of the root changed from %v to %v, %v", before.Mode(), after.Mode(), err)
	}
	if got, err := Open(dir); err != nil {
		t.Errorf("Open() of a folder that has a link to the root = %q, %v", got, err)
	}
}
