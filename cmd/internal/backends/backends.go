// Package backends lists the sandboxes that this build knows. It is the one place outside of tests that names them.
package backends

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	_ "github.com/mcpgen/mcpgen/cmd/internal/backends/early" // the main functions of sandboxes' first processes
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/docker"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded"
	"github.com/mcpgen/mcpgen/runner/sandbox/gvisor"
	"github.com/mcpgen/mcpgen/runner/sandbox/process"
	"github.com/mcpgen/mcpgen/runner/script"
)

// Options say how sandboxes are built. LookupEnv is required.
type Options struct {
	// LookupEnv reads the variables of [Names].
	LookupEnv func(name string) (string, bool)
	// Dir is the absolute folder that the paths of programs start at. Empty: the process's working directory.
	Dir string
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
	p := o.locations()
	find := o.lookPath
	engine := docker.Options{Host: p.engine, CertDir: p.certs, Image: o.Image, RuntimeDir: p.dir, Exe: exe, Logger: o.Logger}
	withGVisor := engine
	withGVisor.Name, withGVisor.Runtime = "gvisor", "runsc"
	return []sandbox.Backend{
		embedded.New(&embedded.Options{Exe: exe, RuntimeDir: p.dir, Logger: o.Logger}),
		process.New(&process.Options{
			Exe: exe, Logger: o.Logger, LookPath: find,
			Node: p.node, Python: p.python,
		}),
		docker.New(engine),
		gvisor.New(gvisor.Options{
			Exe: exe, Runsc: p.runsc, Node: p.node, Python: p.python, LookPath: find,
			RuntimeDir: p.dir, Engine: docker.New(withGVisor), Logger: o.Logger,
		}),
	}, nil
}

// locations are the paths and addresses from variables and options. Programs are names for lookPath.
type locations struct{ dir, node, python, runsc, engine, certs string }

func (o *Options) locations() locations {
	return locations{
		dir: RuntimeDir(o.LookupEnv), engine: engineHost(o.LookupEnv), certs: certDir(o.LookupEnv),
		node: env(o.LookupEnv, "MCPRUN_NODE", "node"), python: env(o.LookupEnv, "MCPRUN_PYTHON", "python3"),
		runsc: cmp.Or(o.Runsc, env(o.LookupEnv, "MCPRUN_RUNSC", "runsc")),
	}
}

// CacheKey lists everything that List's result depends on, except Logger.
func (o *Options) CacheKey() []string {
	p := o.locations()
	all := []string{o.Image, p.dir, p.engine, p.certs}
	for _, name := range []string{p.node, p.python, p.runsc} {
		file, err := o.lookPath(name)
		if err != nil {
			file = name // there is none, whatever the PATH
		}
		all = append(all, file)
	}
	return all
}

// RunChild must be the first call in main of every program that uses List or has a script.Bundler: scripts are bundled in a
// child that is the same program, and another one removes containers if this process is killed. It does not return in
// these. The first processes of sandboxes end before main (see early).
func RunChild() {
	script.Child()
	docker.Init()
}

// Names lists the variables that List and what it makes read.
func Names() []string {
	return []string{
		"DOCKER_HOST", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY", "HOME", "USERPROFILE", "XDG_RUNTIME_DIR", "PATH",
		"MCPRUN_NODE", "MCPRUN_PYTHON", "MCPRUN_RUNSC",
	}
}

// RuntimeDir is the private folder for what runs need while they last. It need not be there.
func RuntimeDir(lookup func(string) (string, bool)) string {
	if dir, ok := lookup("XDG_RUNTIME_DIR"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcprun")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("mcprun-%d", os.Geteuid()))
}

// lookPath finds programs like [exec.LookPath], on the PATH that LookupEnv knows, and from Dir: those of the process itself
// may be another's.
func (o *Options) lookPath(name string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) && o.Dir != "" {
			name = filepath.Join(o.Dir, name)
		}
		return exec.LookPath(name)
	}
	if runtime.GOOS == "windows" {
		return exec.LookPath(name)
	}
	path, _ := o.LookupEnv("PATH")
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if st, err := os.Stat(file); filepath.IsAbs(dir) && err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

func env(lookup func(string) (string, bool), name, fallback string) string {
	if v, ok := lookup(name); ok && v != "" {
		return v
	}
	return fallback
}
