// Package atomicfile writes files that a reader sees complete or not at all, also after a crash or a loss of power.
//
// The content goes to a new file in the same folder, which is flushed to the disk and then renamed. Windows renames over a file that
// another program has open only if that program allows it; otherwise the error says so, and the old file stays. If the process is
// killed, a file whose name begins with [TempPrefix] may stay in the folder.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// TempPrefix begins the names of files that are not complete yet.
const TempPrefix = ".tmp-"

// Write replaces the file at a path, or creates it with perm before the umask. It follows a symbolic link that leads to a
// file, and keeps the permissions of a file that exists, unless perm is for the owner alone: the file becomes private then. The folder must
// exist. Errors are *fs.PathError with the path.
func Write(path string, content []byte, perm fs.FileMode) error {
	return WriteStream(path, perm, bytesOf(content))
}

// WriteStream is Write for a content that fill writes. If fill fails, its error is returned, and the file is what it was.
func WriteStream(path string, perm fs.FileMode, fill func(io.Writer) error) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		target = path // it does not exist yet, or WriteIn says what is wrong
	}
	root, err := os.OpenRoot(filepath.Dir(target))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("there is no folder %s", filepath.Dir(target))
	}
	if err != nil {
		return failed(path, err)
	}
	defer root.Close()
	if err := write(root, filepath.Base(target), fill, perm, perm&0o077 != 0); err != nil {
		return failed(path, err)
	}
	return nil
}

// WriteIn replaces the file at a path below root, or creates it. The file gets perm before the umask, also where a file had others. A
// symbolic link is replaced, not followed. The folder of the file must exist. Errors are *fs.PathError with the name.
func WriteIn(root *os.Root, name string, content []byte, perm fs.FileMode) error {
	if err := write(root, name, bytesOf(content), perm, false); err != nil {
		return failed(name, err)
	}
	return nil
}

func bytesOf(content []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	}
}

// write replaces a file. With keep, one that exists keeps its permissions.
func write(root *os.Root, name string, fill func(io.Writer) error, perm fs.FileMode, keep bool) (err error) {
	info, err := root.Lstat(name)
	keep = keep && err == nil && info.Mode().IsRegular()
	switch {
	case err == nil && info.IsDir():
		return errors.New("it is a folder")
	case keep:
		perm &= info.Mode() // nobody reads the new file who could not read the old one
	}
	dir := filepath.Dir(name)
	temp := filepath.Join(dir, TempPrefix+rand.Text())
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = root.Remove(temp) // the first error is reported
		}
	}()
	err = fill(f)
	if err == nil && keep {
		err = f.Chmod(info.Mode().Perm())
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := root.Rename(temp, name); err != nil {
		return err
	}
	// The new name survives a loss of power too, where the system can do that.
	if folder, err := root.Open(dir + "/."); err == nil { // waits for no pipe in its place
		_ = folder.Sync()
		_ = folder.Close()
	}
	return nil
}

// failed names the file that was to be written, not the temporary one.
func failed(path string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		err = e.Err
	}
	return &fs.PathError{Op: "write", Path: path, Err: err}
}
