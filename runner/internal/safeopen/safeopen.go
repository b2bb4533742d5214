// Package safeopen opens files and folders in places where a script may have put something else: a named pipe, a device, a
// socket or a symbolic link. No function here waits for another process, opens a file that is not regular, or leaves the
// folder it was given. The host opens everything below a workspace with this package.
//
// A folder is opened by a path that ends in "/.", because the system then refuses anything that is not a folder before it
// opens it ([os.Root.OpenRoot] would wait for the other end of a pipe). A file is opened without waiting, then examined, and
// refused unless it is regular. Both checks examine what was opened, not what was there before: a script may replace a name
// at any time.
package safeopen

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// KindError reports that a path is not of the kind it was opened as.
type KindError struct {
	Path string
	Mode fs.FileMode
	Want string // such as "a folder"
}

func (e *KindError) Error() string {
	return fmt.Sprintf("%s is %s, not %s", e.Path, Kind(e.Mode), e.Want)
}

// Hint returns what a person can do about the error.
func (e *KindError) Hint() string { return "remove it" }

// Kind describes the type of a file in words, such as "a symbolic link".
func Kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode.IsDir():
		return "a folder"
	case mode.IsRegular():
		return "a file"
	}
	return "a special file"
}

const (
	wantFolder = "a folder"
	wantFile   = "a regular file"
)

// Root opens the folder at a path, like [os.OpenRoot].
func Root(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(within(dir))
	if err == nil {
		return root, nil
	}
	return nil, explain(err, dir, wantFolder, os.Stat)
}

// Dir opens a folder below root. It refuses a link to a folder.
func Dir(root *os.Root, name string) (*os.Root, error) {
	dir, err := root.OpenRoot(within(name))
	if err != nil {
		return nil, explain(err, name, wantFolder, root.Lstat)
	}
	opened, err := dir.Stat(".")
	if err == nil {
		var there fs.FileInfo // read after opening: a link that was replaced in between has a different identity
		if there, err = root.Lstat(name); err == nil && !os.SameFile(there, opened) {
			err = &KindError{Path: name, Mode: there.Mode(), Want: wantFolder}
		}
	}
	if err != nil {
		_ = dir.Close()
		return nil, err
	}
	return dir, nil
}

// MakeDir opens a folder below root like [Dir], and creates it with perm if it is missing.
func MakeDir(root *os.Root, name string, perm fs.FileMode) (*os.Root, error) {
	if err := root.Mkdir(name, perm); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return Dir(root, name)
}

// File opens a regular file below root. It follows links that stay below root. The flag is that of [os.OpenFile]; a file
// that File creates gets perm.
func File(root *os.Root, name string, flag int, perm fs.FileMode) (*os.File, error) {
	f, err := root.OpenFile(name, flag|nonblock, perm)
	return regular(f, err, name, root.Stat)
}

// FileAt opens the regular file at a path for reading. It follows links.
func FileAt(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	return regular(f, err, path, os.Stat)
}

func regular(f *os.File, err error, name string, stat func(string) (fs.FileInfo, error)) (*os.File, error) {
	if err != nil {
		return nil, explain(err, name, wantFile, stat)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &KindError{Path: name, Mode: info.Mode(), Want: wantFile}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// ReadDir lists at most max entries of a folder below root, in no particular order. There is no limit if max is 0 or less.
func ReadDir(root *os.Root, name string, max int) ([]fs.DirEntry, error) {
	f, err := root.Open(within(name))
	if err != nil {
		return nil, explain(err, name, wantFolder, root.Stat)
	}
	defer f.Close()
	entries, err := f.ReadDir(max)
	if max > 0 && len(entries) == 0 {
		return nil, nil // the folder is empty or unreadable
	}
	return entries, err
}

// FS returns the files below root as an [fs.FS] that opens them with the checks of this package.
func FS(root *os.Root) fs.FS { return files{root.FS().(described), root} }

// files opens with checks, and describes files as the root does.
type files struct {
	described
	root *os.Root
}

type described interface {
	fs.StatFS
	fs.ReadLinkFS
}

var _ fs.ReadDirFS = files{}

func valid(op, name string) error {
	if !fs.ValidPath(name) {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return nil
}

// Open opens a regular file or a folder.
func (f files) Open(name string) (fs.File, error) {
	if err := valid("open", name); err != nil {
		return nil, err
	}
	opened, err := f.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, explain(err, name, wantFile, f.root.Stat)
	}
	info, err := opened.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &KindError{Path: name, Mode: info.Mode(), Want: wantFile}
	}
	if err != nil {
		_ = opened.Close()
		return nil, err
	}
	return opened, nil
}

// ReadDir lists a folder, sorted by name.
func (f files) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := valid("readdir", name); err != nil {
		return nil, err
	}
	entries, err := ReadDir(f.root, name, 0)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// within returns a path that can only be opened if it is a folder.
func within(dir string) string { return dir + "/." }

// explain returns a *KindError if opening failed because of the kind of file at the name.
func explain(err error, name, want string, stat func(string) (fs.FileInfo, error)) error {
	if info, statErr := stat(name); statErr == nil && (want == wantFolder && !info.IsDir() || want == wantFile && !info.Mode().IsRegular()) {
		return &KindError{Path: name, Mode: info.Mode(), Want: want}
	}
	if at, ok := err.(*fs.PathError); ok {
		return &fs.PathError{Op: "open", Path: name, Err: at.Err} // without the "/."
	}
	return err
}

// LockFlag is the flag for [os.OpenFile] that opens or creates a lock file. It does not wait if the path is a pipe.
const LockFlag = os.O_CREATE | os.O_RDONLY | nonblock
