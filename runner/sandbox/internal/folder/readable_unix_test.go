//go:build unix

package folder

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestReadableFoldersAreLookedThroughOnce(t *testing.T) {
	var r Readable
	check := func(dir string) error { return r.Check(dir, 65533, 65533) }
	tree := t.TempDir()
	file := filepath.Join(tree, "calculator", "add.py")
	for _, err := range []error{os.Chmod(tree, 0o755), os.Mkdir(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	chmod := func(name string, mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(name string) {
		t.Helper()
		err, ok := errors.AsType[*Error](check(tree))
		if !ok || err.Path != name || err.Remedy == "" {
			t.Errorf("got %v; %s is to be named, with a remedy", err, name)
		}
	}
	readable := func() {
		t.Helper()
		if err := check(tree); err != nil {
			t.Error(err)
		}
	}
	refused(file)
	chmod(file, 0o644)
	readable() // a refusal is not kept
	chmod(file, 0o600)
	readable() // nothing was written anew
	later := time.Now().Add(time.Second)
	if err := os.Chtimes(filepath.Dir(file), later, later); err != nil {
		t.Fatal(err)
	}
	refused(file) // as after a sync
	chmod(file, 0o644)
	readable()
	chmod(tree, 0o700)
	refused(tree)
	chmod(tree, 0o755)
	readable()
	if err := os.Rename(filepath.Dir(file), filepath.Join(tree, "other")); err != nil {
		t.Fatal(err)
	}
	readable()
	if err := os.RemoveAll(tree); err != nil {
		t.Fatal(err)
	}
	if err := check(tree); err == nil {
		t.Error("a folder that is gone is readable")
	}
}

// Groups count as they do for the kernel: of a file that is of one, what the others may plays no part.
func TestReadableForGroups(t *testing.T) {
	tree := t.TempDir()
	if err := os.Chmod(tree, 0o750); err != nil {
		t.Fatal(err)
	}
	var r Readable
	for range 2 { // who may not does not profit from who may
		if err := r.Check(tree, 65533, 65533, os.Getegid()); err != nil {
			t.Error(err)
		}
		if err := r.Check(tree, 65533, 65533); err == nil {
			t.Error("a folder of another group is readable")
		}
	}
	if err := os.Chmod(tree, 0o705); err != nil {
		t.Fatal(err)
	}
	if err := r.Check(tree, 65533, os.Getegid()); err == nil {
		t.Error("a folder is readable whose group may not read it")
	}
}
