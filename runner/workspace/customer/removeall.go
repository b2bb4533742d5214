package customer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

// removeAll removes a folder and its content. It follows no link. It also removes folders that a script has made inaccessible
// to their owner.
func removeAll(parent *os.Root, name string) error {
	if err := parent.RemoveAll(name); err == nil {
		return nil
	}
	unlockDir(parent, name)
	if dir, err := safeopen.Dir(parent, name); err == nil {
		_ = fs.WalkDir(safeopen.FS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				unlockDir(dir, path) // before it is read
			}
			return nil
		})
		dir.Close()
	}
	if err := parent.RemoveAll(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

// unlockDir makes a folder accessible to its owner. It ignores errors: whoever needs access reports them.
func unlockDir(parent *os.Root, name string) {
	if info, err := parent.Lstat(name); err == nil && info.IsDir() && info.Mode().Perm()&0o700 != 0o700 {
		_ = parent.Chmod(name, info.Mode().Perm()|0o700)
	}
}
