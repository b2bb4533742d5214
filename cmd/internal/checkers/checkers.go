// Package checkers locates the type checkers on this machine for both programs.
package checkers

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/script/check"
)

// Dir returns the absolute folder of installed checkers, which may not exist, or "" if the environment names no place for it.
func Dir(app *cli.App) string {
	if cache := app.CacheDir(); cache != "" {
		return filepath.Join(cache, "tools")
	}
	return ""
}

// Places returns where to look for checkers, including the node_modules folder of project unless project is empty.
func Places(app *cli.App, project string) check.Places {
	p := check.Places{LookPath: exec.LookPath, Dir: app.Dir, Project: project, Tools: Dir(app)}
	if program, err := os.Executable(); err == nil {
		if program, err = filepath.EvalSymlinks(program); err == nil {
			p.Program = filepath.Dir(program)
		}
	}
	return p
}
