package runner

import (
	"fmt"
	"path/filepath"
)

// WorkspaceError says that a script could change, in the workspace that was named, what is not its to change.
type WorkspaceError struct {
	Workspace, Path string // absolute
}

func (e *WorkspaceError) Error() string {
	return fmt.Sprintf("a script that may write to the workspace %q could change %q", e.Workspace, e.Path)
}

// Hint is what a person can do about it.
func (e *WorkspaceError) Hint() string {
	return "name a folder of its own for what scripts write, with --workspace or in mcpgen.yaml"
}

// guard refuses a workspace with what later runs trust in it, or in what scripts only read. The tree and the skills may
// be where every sandbox shows them in any case.
func (r *Runner) guard(dir string) error {
	for _, path := range r.opt.Trusted {
		for _, p := range []string{path, resolved(path)} {
			if within(dir, p) {
				return &WorkspaceError{Workspace: dir, Path: p}
			}
		}
	}
	for name, path := range map[string]string{"servers": r.opt.Tree, "skills": r.opt.Skills} {
		if path == "" {
			continue
		}
		if p := resolved(path); within(p, dir) || within(dir, p) && p != filepath.Join(dir, name) {
			return &WorkspaceError{Workspace: dir, Path: p}
		}
	}
	return nil
}

// resolved is path without symbolic links, as far as it exists.
func resolved(path string) string {
	for dir, rest := path, ""; ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if p, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(p, rest)
		}
		if dir == filepath.Dir(dir) {
			return path
		}
	}
}

// within tells whether path is dir or something in it. Both are absolute.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
