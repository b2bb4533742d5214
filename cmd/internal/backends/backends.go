// Package backends lists the sandboxes that this build knows. It is the one place outside of tests that names them.
package backends

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/docker"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded"
	"github.com/mcpgen/mcpgen/runner/sandbox/process"
)

// Options say how sandboxes are built. LookupEnv is required.
type Options struct {
	// LookupEnv reads DOCKER_HOST, XDG_RUNTIME_DIR, PATH (through the operating system), MCPRUN_NODE and MCPRUN_PYTHON.
	LookupEnv func(name string) (string, bool)
	// Image replaces the pinned sandbox image.
	Image string
	// Logger may be nil.
	Logger *slog.Logger
}

// List returns every sandbox, weakest need first. The caller closes them.
func List(o Options) ([]sandbox.Backend, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program's own file: %w", err)
	}
	dir := runtimeDir(o.LookupEnv)
	return []sandbox.Backend{
		embedded.New(&embedded.Options{Exe: exe, RuntimeDir: dir, Logger: o.Logger}),
		process.New(&process.Options{
			Exe: exe, Logger: o.Logger, LookPath: exec.LookPath,
			Node: env(o.LookupEnv, "MCPRUN_NODE", "node"), Python: env(o.LookupEnv, "MCPRUN_PYTHON", "python3"),
		}),
		docker.New(docker.Options{Host: env(o.LookupEnv, "DOCKER_HOST", ""), Image: o.Image, RuntimeDir: dir, Logger: o.Logger}),
	}, nil
}

// RunChild must be the first thing a program that uses List does: sandboxes start the program again as their own first
// process. In such a child it does not return.
func RunChild() {
	process.Init()
	embedded.Child()
}

// runtimeDir is the private folder for what runs need while they last.
func runtimeDir(lookup func(string) (string, bool)) string {
	if dir, ok := lookup("XDG_RUNTIME_DIR"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcprun")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("mcprun-%d", os.Geteuid()))
}

func env(lookup func(string) (string, bool), name, fallback string) string {
	if v, ok := lookup(name); ok && v != "" {
		return v
	}
	return fallback
}
