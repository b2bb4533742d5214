package docker

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

// prepareFolders makes sure that the guest will find its workspace writable and its tree readable.
func (b *Backend) prepareFolders(spec sandbox.Spec, e *engine) error {
	stranger := !e.rootless && b.opt.UID != os.Geteuid()
	if spec.Workspace != "" {
		if err := checkFolder(spec.Workspace); err != nil {
			return err
		}
		if stranger {
			if err := acl.Grant(spec.Workspace, b.opt.UID); err != nil {
				return err
			}
		}
	}
	for _, f := range readOnlyFolders(spec) {
		if err := checkFolder(f.source); err != nil {
			return err
		}
		if stranger {
			if err := checkReadable(f.source, b.opt.UID, b.opt.GID); err != nil {
				return err
			}
		}
		if spec.Workspace != "" {
			if err := mountPoint(spec.Workspace, f.name); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkFolder(dir string) error {
	if !filepath.IsAbs(dir) {
		return &FolderError{Path: dir, Reason: "is not an absolute path"}
	}
	st, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at a folder of the run: %w", err)
	}
	if !st.IsDir() {
		return &FolderError{Path: dir, Reason: "is not a folder"}
	}
	return nil
}

// mountPoint makes the folder that a folder of the host is mounted on. It stays when the run is over: removing it would
// unmount what other runs in the same workspace see there.
func mountPoint(workspace, name string) error {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return fmt.Errorf("make the place for %s: %w", name, err)
	}
	defer root.Close()
	if err := root.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the place for %s: %w", name, err)
	}
	st, err := root.Lstat(name)
	if err != nil {
		return fmt.Errorf("make the place for %s: %w", name, err)
	}
	if !st.IsDir() {
		return &FolderError{Path: filepath.Join(workspace, name), Reason: fmt.Sprintf("is not a folder, and the run's %s have to appear there", name),
			hint: "rename it, or choose another workspace"}
	}
	return nil
}

// checkReadable finds the first file below dir that the guest could not read. What is above dir plays no part.
func checkReadable(dir string, uid, gid int) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("look at a folder of the run: %w", err)
		}
		if d.Type()&fs.ModeSymlink != 0 {
			return nil
		}
		st, err := d.Info()
		if err != nil {
			return fmt.Errorf("look at a folder of the run: %w", err)
		}
		need := fs.FileMode(0o4)
		if d.IsDir() {
			need = 0o5
		}
		switch {
		case ownedBy(st, uid):
			need <<= 6
		case inGroup(st, gid):
			need <<= 3
		}
		if st.Mode().Perm()&need != need {
			return &FolderError{Path: name, Reason: fmt.Sprintf("is not readable for user %d, whom scripts run as", uid),
				hint: fmt.Sprintf("chmod -R a+rX %q", dir)}
		}
		return nil
	})
}
