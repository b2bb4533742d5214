package carry

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// Result is what came of Apply.
type Result struct {
	// Left counts what the run left in its workspace and this machine does not get: symbolic links that lead out of
	// the workspace, paths too long or too deep, names that this system does not allow.
	Left int
	// Example is the path of one of them.
	Example string
	// Largest is the size of the largest file that came, in bytes.
	Largest int64
}

func (r *Result) leave(count int, name string) {
	if r.Left == 0 {
		r.Example = name
	}
	r.Left += count
}

// Apply makes the changes that stream holds in root. It reads the stream twice, and changes nothing unless it is complete
// and within the limits: the error is then a [DamagedError] or a [TooMuchError]. An error of this machine, as when its
// disk is full, ends it in the middle.
func Apply(root *os.Root, stream io.ReadSeeker, lim Limits) (Result, error) {
	if err := parse(stream, lim, nobody{}); err != nil {
		return Result{}, err
	}
	if _, err := stream.Seek(0, io.SeekStart); err != nil {
		return Result{}, fmt.Errorf("read the changes to the workspace again: %w", err)
	}
	a := &applier{root: root, real: map[string]bool{}}
	err := parse(stream, lim, a)
	if a.open != nil {
		a.open.Close()
	}
	return a.res, errors.Join(err, a.finish())
}

// applier makes changes. Names are those of records; every parent of a name is a real folder before anything is done to
// it, so that nothing goes through a symbolic link.
type applier struct {
	root  *os.Root
	res   Result
	real  map[string]bool // folders known to be folders
	modes []dirMode       // to be set at the end

	open  *os.File // the file that data is for; nil: it is thrown away
	name  string
	mode  fs.FileMode
	mtime time.Time
}

type dirMode struct {
	name string
	mode fs.FileMode
}

func system(name string) string { return filepath.FromSlash(name) }

func (a *applier) fail(name string, err error) error {
	return fmt.Errorf("take over %q from the container: %w", name, err)
}

// parent tells whether name's folder is a real one, and all above it.
func (a *applier) parent(name string) (bool, error) {
	dir := path.Dir(name)
	if dir == "." || a.real[dir] {
		return true, nil
	}
	if ok, err := a.parent(dir); !ok || err != nil {
		return ok, err
	}
	st, err := a.root.Lstat(system(dir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, a.fail(dir, err)
	case !st.IsDir():
		return false, nil
	}
	a.real[dir] = true
	return true, nil
}

// unlocked does something in name's folder, once more with the folder unlocked when it may not.
func (a *applier) unlocked(name string, do func() error) error {
	err := do()
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	dir := path.Dir(name)
	st, statErr := a.root.Lstat(system(dir))
	if statErr != nil || !st.IsDir() || st.Mode().Perm()&0o700 == 0o700 {
		return err
	}
	if chmodErr := a.root.Chmod(system(dir), st.Mode().Perm()|0o700); chmodErr != nil {
		return err
	}
	if !slices.ContainsFunc(a.modes, func(m dirMode) bool { return m.name == dir }) {
		a.modes = append(a.modes, dirMode{dir, st.Mode().Perm()})
	}
	return do()
}

// away removes what is at name so that something of another kind can be there. A folder that still holds something,
// which was never carried, stays.
func (a *applier) away(name string) (bool, error) {
	err := a.unlocked(name, func() error { return a.root.Remove(system(name)) })
	switch {
	case err == nil || errors.Is(err, fs.ErrNotExist):
		// What was known of a folder says nothing of what will be here.
		delete(a.real, name)
		a.modes = slices.DeleteFunc(a.modes, func(m dirMode) bool { return m.name == name })
		return true, nil
	case a.isDir(name):
		return false, nil
	}
	return false, a.fail(name, err)
}

func (a *applier) isDir(name string) bool {
	st, err := a.root.Lstat(system(name))
	return err == nil && st.IsDir()
}

func (a *applier) removed(name string) error {
	if !okPath(name) {
		return nil // nothing of that name can be here
	}
	if ok, err := a.parent(name); !ok || err != nil {
		return err
	}
	ok, err := a.away(name)
	if err == nil && !ok {
		a.res.leave(1, name)
	}
	return err
}

func (a *applier) left(count int, name string) error {
	a.res.leave(count, name)
	return nil
}

// place tells whether something may be put at name.
func (a *applier) place(name string) (bool, error) {
	ok := okPath(name)
	if ok {
		var err error
		if ok, err = a.parent(name); err != nil {
			return false, err
		}
	}
	if !ok {
		a.res.leave(1, name)
	}
	return ok, nil
}

func (a *applier) dir(name string, mode fs.FileMode) error {
	if ok, err := a.place(name); !ok || err != nil {
		return err
	}
	if st, err := a.root.Lstat(system(name)); err == nil && !st.IsDir() {
		if ok, err := a.away(name); !ok || err != nil {
			return err
		}
	}
	err := a.unlocked(name, func() error { return a.root.Mkdir(system(name), 0o700) })
	if errors.Is(err, fs.ErrExist) && a.isDir(name) {
		err = a.root.Chmod(system(name), mode|0o700)
	}
	if err != nil {
		return a.fail(name, err)
	}
	a.real[name] = true
	a.modes = append(a.modes, dirMode{name, mode})
	return nil
}

func (a *applier) link(name, target string) error {
	ok, err := a.place(name)
	if !ok || err != nil {
		return err
	}
	if !inside(name, target) {
		a.res.leave(1, name)
		return nil
	}
	if ok, err = a.away(name); err != nil {
		return err
	}
	if !ok {
		a.res.leave(1, name)
		return nil
	}
	if err := a.unlocked(name, func() error { return a.root.Symlink(system(target), system(name)) }); err != nil {
		return a.fail(name, err)
	}
	return nil
}

// file makes a new file in place of what is there: an old one may have other names, outside of the workspace too.
func (a *applier) file(name string, mode fs.FileMode, mtime time.Time) error {
	a.open = nil
	ok, err := a.place(name)
	if !ok || err != nil {
		return err
	}
	if ok, err = a.away(name); err != nil {
		return err
	}
	if !ok {
		a.res.leave(1, name)
		return nil
	}
	err = a.unlocked(name, func() (err error) {
		a.open, err = a.root.OpenFile(system(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		return err
	})
	if err != nil {
		a.open = nil
		return a.fail(name, err)
	}
	a.name, a.mode, a.mtime = name, mode, mtime
	return nil
}

func (a *applier) data(at int64, b []byte) error {
	if a.open == nil {
		return nil
	}
	if _, err := a.open.WriteAt(b, at); err != nil {
		return a.fail(a.name, err)
	}
	return nil
}

func (a *applier) fileEnd(size int64) error {
	a.res.Largest = max(a.res.Largest, size)
	if a.open == nil {
		return nil
	}
	f := a.open
	a.open = nil
	err := errors.Join(f.Truncate(size), f.Chmod(a.mode), f.Close(), a.root.Chtimes(system(a.name), a.mtime, a.mtime))
	if err != nil {
		return a.fail(a.name, err)
	}
	return nil
}

// finish sets the permissions of folders, the innermost first: one that is locked locks what is below it.
func (a *applier) finish() error {
	slices.SortStableFunc(a.modes, func(x, y dirMode) int { return len(y.name) - len(x.name) })
	var errs []error
	for _, m := range a.modes {
		if err := a.root.Chmod(system(m.name), m.mode); err != nil {
			errs = append(errs, a.fail(m.name, err))
		}
	}
	return errors.Join(errs...)
}
