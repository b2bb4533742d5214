//go:build unix

package folder

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestReadable(t *testing.T) {
	tree := t.TempDir()
	file := filepath.Join(tree, "index.py")
	if err := errors.Join(os.Chmod(tree, 0o755), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	err, ok := errors.AsType[*Error](Readable(tree, 65533, 65533))
	if !ok || err.Path != file || err.Remedy == "" {
		t.Errorf("Readable() = %v, want an error that names %s, with a remedy", err, file)
	}
	if err := errors.Join(os.Chmod(file, 0o644), Readable(tree, 65533, 65533)); err != nil {
		t.Error(err)
	}
	if err := Readable(filepath.Join(tree, "none"), 65533); err == nil {
		t.Error("Readable() of a folder that is not there = nil, want an error")
	}
}

// Groups count as they do in the kernel: the permissions of others do not apply to a member of the file's group.
func TestReadableForGroups(t *testing.T) {
	tree := t.TempDir()
	if err := os.Chmod(tree, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := Readable(tree, 65533, 65533, os.Getegid()); err != nil {
		t.Error(err)
	}
	if err := Readable(tree, 65533, 65533); err == nil {
		t.Error("a folder of another group is readable: got no error, want an error")
	}
	if err := os.Chmod(tree, 0o705); err != nil {
		t.Fatal(err)
	}
	if err := Readable(tree, 65533, os.Getegid()); err == nil {
		t.Error("a folder is readable whose group may not read it: got no error, want an error")
	}
}
