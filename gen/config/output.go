package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// OutputError reports that a command would write a report, a recording or the like to one of the project's own files.
type OutputError struct {
	// Path is the file as it was named, and Is describes it.
	Path, Is string
}

func (e *OutputError) Error() string {
	return fmt.Sprintf("%q is not overwritten: it is %s", e.Path, e.Is)
}

// Hint returns what to do about the error.
func (e *OutputError) Hint() string { return "name another file, such as report.json" }

// CheckOutput returns an *[OutputError] if a file that a person names for a command's output is one of own, is in tree, or has a name that
// makes a folder a project, whether or not the file exists. Links, relative paths and the case of names cannot hide this. own are files,
// such as a list of servers with a custom name; tree is a folder, which may be empty or missing.
func CheckOutput(path string, own []string, tree string) error {
	real := follow(path)
	is := ""
	switch name := filepath.Base(real); {
	case slices.ContainsFunc([]string{SettingsName, OwnName, FileName, DotEnvName}, func(s string) bool { return strings.EqualFold(s, name) }):
		is = "named like a file of a project's configuration"
	case slices.ContainsFunc(own, func(file string) bool { return sameFile(real, follow(file)) }):
		is = "a file of the project's configuration"
	case tree != "" && inFolder(real, follow(tree)):
		is = "in the generated tree"
	default:
		return nil
	}
	return &OutputError{Path: path, Is: is}
}

// follow returns path with the links in its existing part resolved. A link to a file that does not exist is resolved too.
func follow(path string) string {
	path = filepath.Clean(path)
	for range 40 { // more successive links are a cycle
		if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			path = filepath.Join(dir, filepath.Base(path))
		}
		to, err := os.Readlink(path)
		if err != nil {
			return path
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return path
}

// sameFile reports whether two paths are the same file, according to the file system, which may ignore the case of names.
func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// inFolder reports whether path is folder or is in it.
func inFolder(path, folder string) bool {
	for ; ; path = filepath.Dir(path) {
		if sameFile(path, folder) {
			return true
		}
		if path == filepath.Dir(path) {
			return false
		}
	}
}
