package remote

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

// Apply applies the changes in what Receive has received. It changes nothing unless the archive is complete and within the limits:
// otherwise the error is a [DamagedError], or IsTooMuch reports true. After any other error, such as a full disk, the changes may be
// applied in part.
func (w *Workspace) Apply() (Result, error) {
	if w.spool == nil { // nothing was received
		return Result{}, nil
	}
	now, err := w.states()
	if err != nil {
		return Result{}, err
	}
	a := &applier{root: w.root, real: map[string]bool{}}
	err = a.removeAll(w.packed, now)
	if err == nil {
		err = w.entries(&a.res, func(name string, h *tar.Header, data io.Reader) error {
			if s, ok := now[name]; ok && s != w.packed[name] {
				return a.apply(name, h, s, data)
			}
			return nil
		})
	}
	return a.res, errors.Join(err, a.finish())
}

// applier makes changes. Before it changes anything at a name, every parent of the name is a real folder, so that nothing goes through a
// symbolic link.
type applier struct {
	root  *os.Root
	res   Result
	real  map[string]bool // paths known to be real folders
	modes []dirMode       // to be set at the end
}

// removeAll removes what was packed and no longer exists, or is now of another kind. The deepest come first, so that folders are empty when
// they are removed.
func (a *applier) removeAll(packed, now map[string]state) error {
	var gone []string
	for name, s := range packed {
		if now[name].kind != s.kind {
			gone = append(gone, name)
		}
	}
	slices.SortFunc(gone, func(x, y string) int { return strings.Count(y, "/") - strings.Count(x, "/") })
	for _, name := range gone {
		if err := a.removed(name); err != nil {
			return err
		}
	}
	return nil
}

// apply replaces name with its content in the archive.
func (a *applier) apply(name string, h *tar.Header, s state, data io.Reader) error {
	ok, err := a.parent(name)
	if err != nil {
		return err
	}
	if !ok || h.Typeflag == tar.TypeSymlink && !inside(name, h.Linkname) {
		a.res.leave(name)
		return nil
	}
	if h.Typeflag == tar.TypeDir {
		return a.dir(name, s.mode)
	}
	if ok, err = a.away(name); err != nil {
		return err
	}
	if !ok {
		a.res.leave(name)
		return nil
	}
	switch h.Typeflag {
	case tar.TypeSymlink:
		err = a.unlocked(name, func() error { return a.root.Symlink(system(h.Linkname), system(name)) })
	case tar.TypeLink:
		err = a.sameAs(name, linked(h), h)
	default:
		a.res.Largest = max(a.res.Largest, h.Size)
		err = a.file(name, h, data)
	}
	if err != nil {
		return a.fail(name, err)
	}
	return nil
}

// sameAs creates a file with the content of another, which has already been applied.
func (a *applier) sameAs(name, first string, h *tar.Header) error {
	f, err := safeopen.File(a.root, system(first), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return a.file(name, h, f)
}

// file creates a new file, because an old one may have other names, including names outside the workspace.
func (a *applier) file(name string, h *tar.Header, data io.Reader) error {
	var f *os.File
	err := a.unlocked(name, func() (err error) {
		f, err = a.root.OpenFile(system(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		return err
	})
	if err != nil {
		return err
	}
	_, err = io.Copy(f, data)
	return errors.Join(err, f.Chmod(fs.FileMode(h.Mode)&fs.ModePerm), f.Close(), a.root.Chtimes(system(name), h.ModTime, h.ModTime))
}

// inside reports whether a symbolic link at name to target stays in the workspace. ".." is accepted only at the beginning: after a name,
// which may itself be a link, its meaning is unknown.
func inside(name, target string) bool {
	if target == "" || len(target) > maxPath || strings.ContainsRune(target, 0) {
		return false
	}
	up := strings.Count(name, "/")
	for strings.HasPrefix(target, "../") || target == ".." {
		target = strings.TrimPrefix(strings.TrimPrefix(target, ".."), "/")
		if up--; up < 0 {
			return false
		}
	}
	if target == "" || target == "." {
		return true
	}
	return okPath(strings.TrimSuffix(strings.TrimPrefix(target, "./"), "/"))
}

type dirMode struct {
	name string
	mode fs.FileMode
}

func system(name string) string { return filepath.FromSlash(name) }

func (a *applier) fail(name string, err error) error {
	return fmt.Errorf("copy %q from the container: %w", name, err)
}

// parent reports whether name's folder, and all folders above it, are real.
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

// unlocked calls do, and calls it again with name's folder made writable if that is not permitted.
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

// away removes what is at name and reports whether name is free. A folder that still contains something, which was never copied, stays.
func (a *applier) away(name string) (bool, error) {
	err := a.unlocked(name, func() error { return a.root.Remove(system(name)) })
	switch {
	case err == nil || errors.Is(err, fs.ErrNotExist):
		// What was recorded about a folder of this name no longer applies.
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
	if ok, err := a.parent(name); !ok || err != nil {
		return err
	}
	ok, err := a.away(name)
	if err == nil && !ok {
		a.res.leave(name)
	}
	return err
}

func (a *applier) dir(name string, mode fs.FileMode) error {
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

// finish sets the permissions of folders, the innermost first: a folder without permissions makes those below it inaccessible.
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
