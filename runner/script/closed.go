package script

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

// Not every file beside a script is for the script: hidden files and the configuration of servers contain what a sandbox must not
// see. The checks apply to the file that a path leads to, since a script may create links in its workspace, and to the file that was
// opened, since it may change a link in the meantime.

// hidden reports whether a path, with slashes, has a part that begins with a dot.
func hidden(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		if strings.HasPrefix(part, ".") && part != "." && part != ".." {
			return true
		}
	}
	return false
}

// closedFiles returns those of the paths that exist.
func closedFiles(paths []string) []fs.FileInfo {
	var found []fs.FileInfo
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil {
			found = append(found, info)
		}
	}
	return found
}

// shut returns why a script may not read the file at p, beside it; nil if it may.
func (f *files) shut(p string, info fs.FileInfo) error {
	return refuse(f.closed, f.script.Name(), p, info)
}

// refuse returns why a script in the folder base may not read the file at p, below it, that was opened as info; nil if it may.
func refuse(closed []fs.FileInfo, base, p string, info fs.FileInfo) error {
	isClosed := func(file fs.FileInfo) bool {
		return slices.ContainsFunc(closed, func(c fs.FileInfo) bool { return os.SameFile(c, file) })
	}
	if isClosed(info) {
		return fmt.Errorf("%q cannot be imported: it is configuration of mcprun", p)
	}
	errHidden := fmt.Errorf("%q cannot be imported: hidden files are not for scripts", p)
	base, err := filepath.EvalSymlinks(base)
	if err != nil {
		return errHidden
	}
	real, err := filepath.EvalSymlinks(filepath.Join(base, filepath.FromSlash(p)))
	if err != nil {
		return errHidden
	}
	for dir := filepath.Dir(real); ; dir = filepath.Dir(dir) {
		if rel, err := filepath.Rel(base, dir); err != nil || !filepath.IsLocal(rel) {
			break
		}
		if folder, err := os.Lstat(dir); err != nil || isClosed(folder) {
			return fmt.Errorf("%q cannot be imported: it is in a folder of mcprun's own", p)
		}
	}
	rel, err := filepath.Rel(base, real)
	if err != nil || hidden(p) || hidden(filepath.ToSlash(rel)) {
		return errHidden
	}
	if there, err := os.Lstat(real); err != nil || !os.SameFile(there, info) {
		return errHidden // it was replaced meanwhile
	}
	return nil
}

// stat returns the file of a module.
func (f *files) stat(namespace, p string) (fs.FileInfo, error) {
	root := f.root(namespace)
	info, err := root.Stat(p)
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err == nil && namespace == scriptNamespace {
		err = f.shut(p, info)
	}
	return info, err
}

// read returns the contents of a module's file.
func (f *files) read(namespace, p string) ([]byte, error) {
	file, err := safeopen.File(f.root(namespace), p, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && info.Size() > MaxSize {
		err = fmt.Errorf("%s is not a file of at most %d bytes", p, MaxSize)
	}
	if err == nil && namespace == scriptNamespace {
		err = f.shut(p, info)
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(file, MaxSize)) // the file may grow
}
