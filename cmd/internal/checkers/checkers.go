// Package checkers tells both programs where the type checkers of this machine may be.
package checkers

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/script/check"
)

// Dir is the folder of installed checkers, absolute. It need not be there. Empty: the environment names no place for it.
func Dir(app *cli.App) string {
	if cache := app.CacheDir(); cache != "" {
		return filepath.Join(cache, "tools")
	}
	return ""
}

// Places returns where the checkers may be. The project is a folder whose node_modules may hold them; empty: none.
func Places(app *cli.App, project string) check.Places {
	p := check.Places{LookPath: exec.LookPath, Dir: app.Dir, Project: project, Tools: Dir(app)}
	if program, err := os.Executable(); err == nil {
		if program, err = filepath.EvalSymlinks(program); err == nil {
			p.Program = filepath.Dir(program)
		}
	}
	return p
}
