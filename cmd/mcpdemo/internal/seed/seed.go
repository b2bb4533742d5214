// Package seed creates a folder with first contents exactly once, however many
// processes ask for it at the same moment.
package seed

import (
	"fmt"
	"os"
	"path/filepath"
)

// Dir makes sure that dir exists. If it does not, fill is called with a
// temporary folder in the same parent, which is then renamed into place:
// a half-filled folder is never visible. Of two processes that race, one wins,
// and the other's work is thrown away. A folder that exists is left as it is.
func Dir(dir string, fill func(tmp string) error) error {
	if exists(dir) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("demo data: %w", err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".new-")
	if err != nil {
		return fmt.Errorf("demo data: %w", err)
	}
	defer os.RemoveAll(tmp)
	if err := fill(tmp); err != nil {
		return fmt.Errorf("fill %q: %w", dir, err)
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return fmt.Errorf("demo data: %w", err)
	}
	if err := os.Rename(tmp, dir); err != nil && !exists(dir) {
		return fmt.Errorf("demo data: %w", err)
	}
	return nil
}

func exists(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}
