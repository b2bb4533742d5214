package gvisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/acl"
)

// FolderError says that a folder of the caller's cannot be shown to the guest.
type FolderError struct {
	Path   string
	Reason string
	hint   string
}

func (e *FolderError) Error() string { return fmt.Sprintf("%q %s", e.Path, e.Reason) }

// Hint is what a person can do about it.
func (e *FolderError) Hint() string { return e.hint }

// prepareFolders makes the workspace writable to the guest, and in it the places where other folders are shown. These
// stay: another run may be using them.
func (d *direct) prepareFolders(spec sandbox.Spec) error {
	for _, dir := range []string{spec.Tree, spec.Skills, spec.Workspace} {
		if dir == "" {
			continue
		}
		if st, err := os.Stat(dir); err != nil {
			return fmt.Errorf("look at a folder of the run: %w", err)
		} else if !filepath.IsAbs(dir) || !st.IsDir() {
			return &FolderError{Path: dir, Reason: "is not the absolute path of a folder"}
		}
	}
	if spec.Workspace == "" {
		return nil
	}
	if uid, _ := d.user(); d.root {
		if err := acl.Grant(spec.Workspace, uid); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(spec.Workspace)
	if err != nil {
		return fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	for name, shown := range map[string]string{treeName: spec.Tree, skillsName: spec.Skills} {
		if shown == "" {
			continue
		}
		if err := root.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make the place for %q in the workspace: %w", shown, err)
		}
		if st, err := root.Lstat(name); err != nil {
			return fmt.Errorf("make the place for %q in the workspace: %w", shown, err)
		} else if !st.IsDir() {
			return &FolderError{Path: filepath.Join(spec.Workspace, name), Reason: fmt.Sprintf("is not a folder, and %q has to appear there", shown),
				hint: "rename it, or choose another workspace"}
		}
	}
	return nil
}
