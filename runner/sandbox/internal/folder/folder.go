// Package folder checks the host's folders that sandboxes use: the folders of a run that its guest sees, and the folder in which sandboxes
// keep what a run needs while it lasts.
package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

// Error reports that a folder of the caller cannot be used for a sandbox.
type Error struct {
	Path   string
	Reason string
	Remedy string // may be empty
}

func (e *Error) Error() string { return fmt.Sprintf("%q %s", e.Path, e.Reason) }

// Hint returns what a person can do about the error.
func (e *Error) Hint() string { return e.Remedy }

// Check returns an error unless dir is the absolute path of a folder.
func Check(dir string) error {
	if !filepath.IsAbs(dir) {
		return &Error{Path: dir, Reason: "is not an absolute path"}
	}
	st, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("check a folder of the run: %w", err)
	}
	if !st.IsDir() {
		return &Error{Path: dir, Reason: "is not a folder"}
	}
	return nil
}

// Place creates the folder name in a workspace, on which another folder is mounted. It is kept after the run, because removing it would
// unmount what other runs see there in the same workspace.
func Place(workspace, name string) error {
	root, err := safeopen.Root(workspace)
	if err != nil {
		return fmt.Errorf("create the mount point for %s: %w", name, err)
	}
	defer root.Close()
	if err := root.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create the mount point for %s: %w", name, err)
	}
	st, err := root.Lstat(name)
	if err != nil {
		return fmt.Errorf("create the mount point for %s: %w", name, err)
	}
	if !st.IsDir() {
		return &Error{Path: filepath.Join(workspace, name), Reason: fmt.Sprintf("is not a folder, but the run's %s are mounted there", name),
			Remedy: "rename it, or choose another workspace"}
	}
	return nil
}

// Private creates dir, or checks that no other user can have written to it. If one can, it returns an *Error. On systems without Unix
// owners and permissions it only checks that dir is a folder.
func Private(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create the folder for running sandboxes: %w", err)
	}
	st, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("check the folder for running sandboxes: %w", err)
	}
	if !st.IsDir() || !mine(st) {
		return &Error{Path: dir, Reason: "holds running sandboxes but is not a private folder of yours",
			Remedy: fmt.Sprintf("run chmod 700 %q, or remove it if it is not yours", dir)}
	}
	return nil
}
