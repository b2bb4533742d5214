// Package workspace prepares the folder that a script may write to, and finds the files that a run changed in it. Start with [Open]. A
// [Store] holds the host's files in it. The package customer keeps a separate workspace for each customer.
//
// No function here follows a symbolic link that a script left behind, or reads the content of a script's files.
package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

// Open creates dir and its parents with mode 0700 if they are missing, and returns the absolute path with symbolic links
// resolved. It refuses the root of the file system with a *[RootError].
func Open(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("workspace %q: %w", dir, err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return "", fmt.Errorf("create workspace: %w", err)
	}
	abs, err = filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("workspace %q: %w", dir, err)
	}
	if !utf8.ValidString(abs) { // sandboxes receive the path in JSON, which would change it
		return "", fmt.Errorf("workspace %q: its path is not UTF-8: use another folder", abs)
	}
	if isRoot(abs) {
		return "", &RootError{Dir: dir}
	}
	return abs, nil
}

// Create creates a workspace that does not exist yet, as [Open] does, and excludes it from git. An existing folder stays as it is.
func Create(dir string) error {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	abs, err := Open(dir)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return fmt.Errorf("create workspace: %w", err)
	}
	return errors.Join(ExcludeFromGit(root), root.Close())
}

// ignoreAll is the .gitignore of a workspace, as we write it.
const ignoreAll = "*\n"

// IsIgnore reports whether a file of a workspace is the one by which we exclude the workspace from git.
func IsIgnore(root *os.Root, file string) bool {
	if file != ".gitignore" {
		return false
	}
	f, err := safeopen.File(root, file, os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(len(ignoreAll))+1))
	return err == nil && string(text) == ignoreAll
}

// ExcludeFromGit excludes a folder from the git repository that it may be in, unless the folder has a .gitignore of its own.
func ExcludeFromGit(root *os.Root) error {
	f, err := root.OpenFile(".gitignore", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		_, err = f.WriteString(ignoreAll)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("exclude %s from git: %w", root.Name(), err)
	}
	return nil
}

// as given
type RootError struct{ Dir string } // as given

func (e *RootError) Error() string {
	return fmt.Sprintf("workspace %q: it is the root of the file system: a script could change everything there, and sandboxes change permissions in a workspace", e.Dir)
}

// Hint returns what a person can do about the error.
func (e *RootError) Hint() string { return "name a separate folder for what scripts write" }

// isRoot reports whether a path without links is the root of the file system, or a place where the root is mounted.
func isRoot(abs string) bool {
	if filepath.Dir(abs) == abs {
		return true
	}
	root, err := os.Stat(filepath.VolumeName(abs) + string(filepath.Separator))
	if err != nil {
		return false
	}
	info, err := os.Stat(abs)
	return err == nil && os.SameFile(root, info)
}

// OpenLocked opens a workspace that a script of the same user may have made inaccessible, and makes it accessible.
func OpenLocked(dir string) (*os.Root, error) {
	const readable = 0o500
	if info, err := os.Lstat(dir); err == nil && info.IsDir() && info.Mode().Perm()&readable != readable {
		if err := os.Chmod(dir, info.Mode().Perm()|0o700); err != nil && !errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
	}
	return safeopen.Root(dir) // it fails if the folder belongs to another user
}

// maxEntries limits how many entries Take examines.
const maxEntries = 20_000

// maxDepth limits how deep Take descends.
const maxDepth = 32

// Snapshot is the content of a workspace at one moment.
type Snapshot map[string]entry

type entry struct {
	size  int64
	mtime time.Time
}

// Take records the regular files below dir, except in the folder servers, where the generated tree is shown. It records at
// most the first 20,000 entries, and ignores folders that cannot be read, because a script may have made them inaccessible. If
// dir itself is inaccessible, Take changes its permissions.
func Take(dir string) (Snapshot, error) {
	root, err := OpenLocked(dir)
	if err != nil {
		return nil, fmt.Errorf("read workspace: %w", err)
	}
	defer root.Close()
	snap := Snapshot{}
	seen := 0
	err = fs.WalkDir(safeopen.FS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if seen++; seen > maxEntries {
			return fs.SkipAll
		}
		if err != nil {
			if path == "." {
				return err
			}
			return nil
		}
		if d.IsDir() {
			if path == "servers" || strings.Count(path, "/") > maxDepth {
				return fs.SkipDir
			}
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			snap[path] = entry{info.Size(), info.ModTime()}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read workspace: %w", err)
	}
	return snap, nil
}

// Written returns the files that are new or changed in after, sorted, with slashes. The list is never nil.
func Written(before, after Snapshot) []string {
	out := []string{}
	for path, e := range after {
		if old, ok := before[path]; !ok || old.size != e.size || !old.mtime.Equal(e.mtime) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// Bytes returns the size of all files together.
func (s Snapshot) Bytes() int64 {
	var sum int64
	for _, e := range s {
		sum += e.size
	}
	return sum
}
