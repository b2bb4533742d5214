//go:build unix

package folder_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
)

func TestPrivate(t *testing.T) {
	base := t.TempDir()
	for name, c := range map[string]struct {
		make func(dir string) error
		ok   bool
	}{
		"made":             {func(string) error { return nil }, true},
		"there":            {func(dir string) error { return os.Mkdir(dir, 0o700) }, true},
		"open to others":   {func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o711)) }, false},
		"a file":           {func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, false},
		"a link to my own": {func(dir string) error { return os.Symlink(base, dir) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(base, name)
			if err := c.make(dir); err != nil {
				t.Fatal(err)
			}
			err := folder.Private(dir)
			var private *folder.Error
			if c.ok && err != nil || !c.ok && (!errors.As(err, &private) || private.Hint() == "") {
				t.Errorf("error %v", err)
			}
			if st, err := os.Lstat(dir); c.ok && (err != nil || st.Mode().Perm() != 0o700) {
				t.Errorf("mode %v, %v", st.Mode(), err)
			}
		})
	}
}

func TestPlace(t *testing.T) {
	workspace := t.TempDir()
	for range 2 { // it may already exist
		if err := folder.Place(workspace, "servers"); err != nil {
			t.Fatal(err)
		}
	}
	outside := t.TempDir()
	for name, make := range map[string]func(string) error{
		"link": func(p string) error { return os.Symlink(outside, p) },
		"file": func(p string) error { return os.WriteFile(p, nil, 0o600) },
	} {
		if err := make(filepath.Join(workspace, name)); err != nil {
			t.Fatal(err)
		}
		var refused *folder.Error
		if err := folder.Place(workspace, name); !errors.As(err, &refused) || refused.Hint() == "" {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if err := folder.Check("relative"); err == nil {
		t.Error("a relative path was taken: got no error, want an error")
	}
	if err := folder.Check(filepath.Join(workspace, "file")); err == nil {
		t.Error("a file was taken for a folder: got no error, want an error")
	}
}
