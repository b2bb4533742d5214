// Package tree writes a set of files below one folder. It compares the wanted files with the present ones ([MakePlan]) and writes the
// difference ([Plan.Apply]). It never changes a file that it did not write, and does not know what the files mean.
//
// Writing survives a crash at any point. First, every file is written to the disk under a temporary name. Then each file is renamed
// atomically, stale files are removed, and the files beside the commit file are renamed, the commit file last. The next sync removes
// temporary files, and recognizes generated files by their first lines.
//
// All access goes through an os.Root. A symbolic link on the way to a file is an error, even if it stays inside the root.
package tree

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
)

// Tree maps slash-separated paths below the root to the contents of files.
type Tree map[string][]byte

// Check returns an error for paths that lead outside the root, that are equal on a file system that ignores case, or that
// are a file and a folder at once.
func (t Tree) Check() error {
	folded := map[string]string{} // folded path of each file and folder → its first spelling
	files := map[string]bool{}
	for _, p := range t.paths() {
		if err := checkPath(p); err != nil {
			return err
		}
		files[p] = true
		for q := p; q != "."; q = path.Dir(q) {
			key := fold(q)
			if first, ok := folded[key]; ok && first != q {
				return fmt.Errorf("the paths %q and %q are the same on a file system that ignores case", first, q)
			}
			folded[key] = q
		}
	}
	for p := range files {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if files[dir] {
				return fmt.Errorf("the path %q is a file and a folder at once", dir)
			}
		}
	}
	return nil
}

func checkPath(p string) error {
	if !fs.ValidPath(p) || p == "." || strings.ContainsAny(p, "\\:") {
		return fmt.Errorf("%q is not a path inside the tree", p)
	}
	if i := strings.IndexFunc(p, unicode.IsControl); i >= 0 {
		return fmt.Errorf("the path %q contains a control character", p)
	}
	return nil
}

// fold maps strings that differ only in case to the same string.
func fold(s string) string { return strings.ToLower(strings.ToUpper(s)) }

func (t Tree) paths() []string {
	paths := make([]string, 0, len(t))
	for p := range t {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return paths
}
