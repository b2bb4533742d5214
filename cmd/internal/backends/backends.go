// Package backends lists the sandboxes that this build knows. It is the one place outside of tests that names them.
package backends

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/docker"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded"
	"github.com/mcpgen/mcpgen/runner/sandbox/gvisor"
	"github.com/mcpgen/mcpgen/runner/sandbox/process"
)

// Options say how sandboxes are built. LookupEnv is required.
type Options struct {
	// LookupEnv reads DOCKER_HOST, DOCKER_CERT_PATH, DOCKER_TLS_VERIFY, HOME, XDG_RUNTIME_DIR, PATH (through the operating system), MCPRUN_NODE,
	// MCPRUN_PYTHON and MCPRUN_RUNSC.
	LookupEnv func(name string) (string, bool)
	// Image replaces the pinned sandbox image.
	Image string
	// Runsc is gVisor's program, in place of MCPRUN_RUNSC.
	Runsc string
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
	node, python := env(o.LookupEnv, "MCPRUN_NODE", "node"), env(o.LookupEnv, "MCPRUN_PYTHON", "python3")
	engine := docker.Options{Host: engineHost(o.LookupEnv), CertDir: certDir(o.LookupEnv), Image: o.Image, RuntimeDir: dir, Logger: o.Logger}
	onGVisor := engine
	onGVisor.Name, onGVisor.Runtime = "gvisor", "runsc"
	return []sandbox.Backend{
		embedded.New(&embedded.Options{Exe: exe, RuntimeDir: dir, Logger: o.Logger}),
		process.New(&process.Options{
			Exe: exe, Logger: o.Logger, LookPath: exec.LookPath,
			Node: node, Python: python,
		}),
		docker.New(engine),
		gvisor.New(gvisor.Options{
			Exe: exe, Runsc: cmp.Or(o.Runsc, env(o.LookupEnv, "MCPRUN_RUNSC", "runsc")), Node: node, Python: python, LookPath: exec.LookPath,
			RuntimeDir: dir, Engine: docker.New(onGVisor), Logger: o.Logger,
		}),
	}, nil
}

// RunChild must be the first thing a program that uses List does: sandboxes start the program again as their own first
// process. In such a child it does not return.
func RunChild() {
	process.Init()
	gvisor.Init()
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
