package docker

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/acl"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
)

// prepareFolders makes sure that the guest will find its workspace writable and its tree readable.
func (b *Backend) prepareFolders(spec sandbox.Spec, e *engine) error {
	stranger := !e.rootless && b.opt.UID != os.Geteuid()
	if spec.Workspace != "" {
		if err := folder.Check(spec.Workspace); err != nil {
			return err
		}
		if stranger {
			if err := acl.Grant(spec.Workspace, b.opt.UID); err != nil {
				return err
			}
		}
	}
	for _, f := range readOnlyFolders(spec) {
		if err := folder.Check(f.source); err != nil {
			return err
		}
		if stranger {
			if err := checkReadable(f.source, b.opt.UID, b.opt.GID); err != nil {
				return err
			}
		}
		if spec.Workspace != "" {
			if err := folder.Place(spec.Workspace, f.name); err != nil {
				return err
			}
		}
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
			return &folder.Error{Path: name, Reason: fmt.Sprintf("is not readable for user %d, whom scripts run as", uid),
				Remedy: fmt.Sprintf("chmod -R a+rX %q", dir)}
		}
		return nil
	})
}
