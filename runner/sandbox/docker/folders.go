package docker

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

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
			if err := b.checkReadable(f.source); err != nil {
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

// checkReadable returns an error that names the first file below dir that the guest could not read. Looking through a
// large tree takes longer than a waiting guest takes to begin. So what was found readable is looked through again only
// when one of its folders has changed, as they do when files are written anew; a file that keeps its
// place and loses its mode or owner later is the script's error.
func (b *Backend) checkReadable(dir string) error {
	b.mu.Lock()
	known := b.readable[dir]
	b.mu.Unlock()
	if len(known) > 0 && !slices.ContainsFunc(known, seenFolder.changed) {
		return nil
	}
	seen, err := lookThrough(dir, b.opt.UID, b.opt.GID)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.readable[dir] = seen
	return nil
}

// seenFolder is a folder as it was before what is in it was looked at.
type seenFolder struct {
	path string
	info fs.FileInfo
}

func (f seenFolder) changed() bool {
	now, err := os.Lstat(f.path)
	return err != nil || !os.SameFile(f.info, now) || !sameOwner(f.info, now) || f.info.Mode() != now.Mode() || !f.info.ModTime().Equal(now.ModTime())
}

// lookThrough finds the first file below dir that the guest could not read, and otherwise lists the folders, dir among
// them. What is above dir plays no part.
func lookThrough(dir string, uid, gid int) (folders []seenFolder, err error) {
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
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
			folders = append(folders, seenFolder{name, st})
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
	return folders, err
}
