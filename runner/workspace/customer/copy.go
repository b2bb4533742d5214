package customer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

const (
	// maxEntries limits how many files and folders are copied at once.
	maxEntries = 200_000
	// maxLevels limits how deep folders are copied.
	maxLevels = 64
)

// copier copies the files and folders below a folder to another. A script may change the folder at the same time. Whatever
// is neither a regular file nor a folder is skipped; no link is followed.
type copier struct {
	ctx  context.Context
	to   *os.Root
	room int64 // bytes that may still be written
	// forScripts gives everybody the owner's permissions. A state must be accessible to scripts, which may run as any user and
	// see it in a sandbox; nobody else can pass the customer's folder.
	forScripts bool

	bytes   int64
	files   int
	entries int
	skipped int
	example string // one of those skipped
}

// diskCost returns about how much disk space a file of a size takes, in bytes. A folder takes as much as an empty file.
func diskCost(size int64) int64 {
	const block = 4096
	return (max(size, 1) + block - 1) / block * block
}

func (c *copier) skip(at, why string) {
	if c.skipped++; c.example == "" {
		c.example = at + ": " + why
	}
}

// copy copies the content of a folder, whose path below the copy is at. The error matches [workspace.ErrNoRoom] if there is
// no room.
func (c *copier) copy(dir *os.Root, at string, level int) error {
	entries, err := safeopen.ReadDir(dir, ".", maxEntries+1)
	if err != nil {
		c.skip(at, "it cannot be read")
		return nil
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if c.ctx.Err() != nil {
			return context.Cause(c.ctx)
		}
		if c.entries++; c.entries > maxEntries {
			return fmt.Errorf("there are more than %d files and folders", maxEntries)
		}
		here := path.Join(at, e.Name())
		switch {
		case e.Type().IsRegular():
			err = c.file(dir, e.Name(), here)
		case !e.IsDir():
			c.skip(here, safeopen.Kind(e.Type()))
		case level >= maxLevels:
			c.skip(here, "it is too deep")
		default:
			err = c.folder(dir, e.Name(), here, level+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// folder copies a folder and its content.
func (c *copier) folder(parent *os.Root, name, at string, level int) error {
	dir, err := safeopen.Dir(parent, name)
	if err != nil {
		c.skip(at, "it cannot be opened")
		return nil
	}
	defer dir.Close()
	info, err := dir.Stat(".")
	if err != nil {
		return err
	}
	if c.room -= diskCost(0); c.room < 0 {
		return workspace.ErrNoRoom
	}
	if err := c.to.Mkdir(at, 0o700); err != nil {
		return err
	}
	if err := c.to.Chmod(at, c.perm(info, 0o700)); err != nil {
		return err
	}
	return c.copy(dir, at, level)
}

func (c *copier) file(dir *os.Root, name, at string) error {
	from, info, err := openRegular(dir, name)
	if err != nil {
		c.skip(at, err.Error())
		return nil
	}
	defer from.Close()
	if info.Size() > c.room || diskCost(info.Size()) > c.room {
		return workspace.ErrNoRoom
	}
	to, err := c.to.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(to, io.LimitReader(&contextReader{c.ctx, from}, c.room+1)) // the file may be growing
	if err == nil {
		err = to.Chmod(c.perm(info, 0o600))
	}
	if err = errors.Join(err, to.Close()); err == nil {
		err = c.to.Chtimes(at, info.ModTime(), info.ModTime())
	}
	if c.room -= diskCost(n); err == nil && c.room < 0 {
		err = workspace.ErrNoRoom
	}
	c.bytes += n
	c.files++
	return err
}

// perm returns the permissions of a copy, at least those given.
func (c *copier) perm(info fs.FileInfo, least fs.FileMode) fs.FileMode {
	perm := info.Mode().Perm() | least
	if c.forScripts {
		own := perm & 0o700
		return own | own>>3 | own>>6
	}
	return perm
}

// openRegular opens a regular file that is not reached by a link. The error says why not, for people.
func openRegular(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := safeopen.File(dir, name, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, errors.New("it cannot be opened")
	}
	info, err := f.Stat()
	if err == nil {
		var there fs.FileInfo
		if there, err = dir.Lstat(name); err == nil && !os.SameFile(there, info) {
			err = errors.New("a link")
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// contextReader is a reader that fails once its context has ended.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(b []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(b)
}
