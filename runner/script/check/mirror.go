package check

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

// mirror is the private folder that a checker looks at.
type mirror struct {
	dir  string // without links
	root *os.Root
}

func newMirror() (*mirror, error) {
	dir, err := os.MkdirTemp("", "mcprun-check-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the type checker: %w", err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		var root *os.Root
		if root, err = os.OpenRoot(real); err == nil {
			return &mirror{dir: real, root: root}, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("open the folder for the type checker: %w", err), os.RemoveAll(dir))
}

// remove deletes the folder, or as much of it as it can.
func (m *mirror) remove() {
	m.root.Close()
	_ = os.RemoveAll(m.dir) // what is left is a temporary folder that only its owner can read
}

// write puts a file into the folder.
func (m *mirror) write(name, text string) error {
	err := m.root.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o700)
	if err == nil {
		err = m.root.WriteFile(filepath.FromSlash(name), []byte(text), 0o600)
	}
	if err != nil {
		return fmt.Errorf("copy %s for the type checker: %w", name, err)
	}
	return nil
}

// copyTree copies the wanted files of a folder, each as change makes it; both get names in the mirror. Links are left out, and so is what
// lies deeper than a tree is.
func (m *mirror) copyTree(from, to string, wanted func(name string) bool, change func(name, text string) string) error {
	root, err := safeopen.Root(from)
	if err != nil {
		return fmt.Errorf("open %s for the type checker: %w", to, err)
	}
	defer root.Close()
	size, count := 0, 0
	return fs.WalkDir(safeopen.FS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (d.Name()[0] == '.' || d.Name() == "__pycache__" || d.Name() == "node_modules"):
			return fs.SkipDir
		case !d.Type().IsRegular() || !wanted(name):
			return nil
		}
		text, err := fs.ReadFile(safeopen.FS(root), name)
		if err != nil {
			return err
		}
		if count, size = count+1, size+len(text); count > maxCopied || size > maxCopiedBytes {
			return fmt.Errorf("%s has more than %d files or %d bytes", to, maxCopied, maxCopiedBytes)
		}
		name = path.Join(to, name)
		return m.write(name, change(name, string(text)))
	})
}

// Bounds of what is copied of one folder.
const (
	maxCopied      = 50_000
	maxCopiedBytes = 256 << 20
)
