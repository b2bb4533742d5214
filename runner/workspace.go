package runner

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/workspace"
)

// WorkspaceError reports that a script could change a trusted file, the tree or the skills through its workspace.
type WorkspaceError struct {
	Workspace, Path string // absolute
}

func (e *WorkspaceError) Error() string {
	return fmt.Sprintf("a script that may write to the workspace %q could change %q", e.Workspace, e.Path)
}

// Hint says what to do.
func (e *WorkspaceError) Hint() string {
	return "give scripts a folder of their own, with --workspace or in mcpgen.yaml; if a script made the file, remove it"
}

// guard refuses a workspace that contains trusted files or files that make it a project, or that lies in the tree or the skills. Tree and
// skills may lie in the workspace only as its folders "servers" and "skills", where every sandbox mounts them.
func (r *Runner) guard(dir string) error {
	for _, name := range workspace.ProjectFiles() {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); err == nil {
			return &WorkspaceError{Workspace: dir, Path: path}
		}
	}
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

// resolved resolves the symbolic links in the part of path that exists.
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

// within reports whether path is dir or lies in it. Both are absolute.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
