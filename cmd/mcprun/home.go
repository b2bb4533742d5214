package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
)

// homeError says that the person's home folder was to be a workspace, or a folder that it is in.
type homeError struct{ workspace, home string }

func (e *homeError) Error() string {
	what := "is your home folder"
	if e.workspace != e.home {
		what = fmt.Sprintf("holds your home folder %q", e.home)
	}
	return fmt.Sprintf("the workspace %q %s: a script could read your keys and logins there, and change what your shell and other programs run", e.workspace, what)
}

// Hint is what a person can do about it.
func (e *homeError) Hint() string {
	return "name a folder of its own for what scripts write, with --workspace or in mcpgen.yaml"
}

// refuseHome makes sure that the home folder is not in a script's reach. Folders in it are.
func refuseHome(app *cli.App, workspace string) error {
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
		return nil // it is made, and nothing is in it
	}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	for dir := home; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && os.SameFile(at, info) && !isTop(dir) {
			return &homeError{workspace: dir, home: home}
		}
		if isTop(dir) {
			return nil // the root of all is never a workspace
		}
	}
}

func isTop(dir string) bool { return filepath.Dir(dir) == dir }
