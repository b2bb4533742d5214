package project

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/internal/trust"
)

// RefuseHome refuses a workspace that is or contains the home folder. Folders below the home folder are allowed, except those
// that hold what the user trusts.
func RefuseHome(app *cli.App, workspace string) error {
	if trusted, err := trust.Dir(app); err == nil {
		if _, err := os.Stat(trusted); err == nil && (IsBelow(trusted, workspace) || IsBelow(workspace, trusted)) {
			return cli.WithHint(fmt.Errorf("the folder %q, which stores the configurations that you trust, is in the workspace %q: a script could change it", trusted, workspace),
				"name another workspace, or another folder with XDG_STATE_HOME")
		}
	}
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	home := app.Env(name)
	if !filepath.IsAbs(home) {
		return nil
	}
	at, err := os.Stat(workspace)
	if err != nil {
		return nil // it does not exist yet
	}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	for dir := home; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && os.SameFile(at, info) && !isTop(dir) {
			what := "is your home folder"
			if dir != home {
				what = fmt.Sprintf("holds your home folder %q", home)
			}
			return cli.WithHint(fmt.Errorf("the workspace %q %s: a script could read your keys and logins there, and change what your shell and other programs run", dir, what),
				"name a separate folder for what scripts write, with --workspace or in mcpgen.yaml")
		}
		if isTop(dir) {
			return nil
		}
	}
}

func isTop(dir string) bool { return filepath.Dir(dir) == dir }

// IsLink reports whether a path is a symbolic link.
func IsLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// IsBelow reports whether dir is other or is in it.
func IsBelow(dir, other string) bool {
	dir, other = cli.RealPath(dir), cli.RealPath(other)
	rel, err := filepath.Rel(other, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(os.PathSeparator))
}
