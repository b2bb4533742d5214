// Package seed creates a folder with first contents exactly once, however many
// processes ask for it at the same moment.
//
// The contents are built in a temporary folder beside the wanted one, which is
// then renamed into place: nobody ever sees a half-filled folder, and a process
// that is killed half-way leaves nothing that a later one would trust.
package seed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Dir makes sure that dir exists. If it does not, fill is called with an empty
// temporary folder in the same parent. A folder that exists is left as it is,
// so that what a user changed stays. When two processes race, both fill, one
// wins, and the other's work is thrown away.
func Dir(dir string, fill func(tmp string) error) (err error) {
	switch info, err := os.Stat(dir); {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("demo data: %q is not a folder", dir)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("demo data: %w", err)
	}
	parent, name := filepath.Split(filepath.Clean(dir))
	if parent == "" {
		parent = "."
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("demo data: %w", err)
	}
	tmp, err := os.MkdirTemp(parent, "."+name+"-")
	if err != nil {
		return fmt.Errorf("demo data: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if err := os.Chmod(tmp, 0o755); err != nil {
		return fmt.Errorf("demo data: %w", err)
	}
	if err := fill(tmp); err != nil {
		return fmt.Errorf("fill %q: %w", dir, err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		// A folder that is there now was put there by another process.
		if info, statErr := os.Stat(dir); statErr == nil && info.IsDir() {
			return nil
		}
		return fmt.Errorf("demo data: %w", err)
	}
	return nil
}

// Write copies the files of src into dir.
func Write(dir string, src fs.FS) error {
	return fs.WalkDir(src, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(dir, filepath.FromSlash(name))
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		content, err := fs.ReadFile(src, name)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o644)
	})
}
