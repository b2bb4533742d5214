package folder

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/acl"
)

// Readable tells whether guests that run as another user than this process can read a folder, and remembers what it has
// looked through. Its zero value is ready. It is safe for concurrent use.
type Readable struct {
	// NoLists: the guests' kernel knows no access control lists.
	NoLists bool

	mu    sync.Mutex
	known map[question][]seenFolder // what was found readable: all folders in it
}

// question is whether somebody, a user and groups, can read a folder.
type question struct{ dir, who string }

// Check returns an *Error that names the first file below dir that the user uid, a member of groups, could not read.
// Looking through a large tree takes longer than a waiting guest takes to begin. So what was found readable is looked
// through again only when one of its folders has changed, as they do when files are written anew; a file that keeps its
// place and loses its mode or owner later is the script's error.
func (r *Readable) Check(dir string, uid int, groups ...int) error {
	q := question{dir, fmt.Sprint(uid, groups)}
	r.mu.Lock()
	known := r.known[q]
	r.mu.Unlock()
	if len(known) > 0 && !slices.ContainsFunc(known, seenFolder.changed) {
		return nil
	}
	seen, err := r.lookThrough(dir, uid, groups)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = make(map[question][]seenFolder)
	}
	r.known[q] = seen
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

// lookThrough finds the first file below dir that the user could not read, and otherwise lists the folders, dir among
// them. What is above dir plays no part.
func (r *Readable) lookThrough(dir string, uid int, groups []int) (folders []seenFolder, err error) {
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
		case OwnedBy(st, uid):
			need <<= 6
		case inGroup(st, groups):
			need <<= 3
		}
		if st.Mode().Perm()&need != need && (r.NoLists || !acl.Reads(name, uid)) {
			return &Error{Path: name, Reason: fmt.Sprintf("is not readable for user %d, whom scripts run as", uid),
				Remedy: fmt.Sprintf("chmod -R a+rX %q", dir)}
		}
		return nil
	})
	return folders, err
}
