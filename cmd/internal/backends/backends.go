// Package backends holds the table of sandboxes, the flags that apply to only one of them, and the environment variables that they read.
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

// Options configures the sandboxes. LookupEnv is required.
type Options struct {
	// LookupEnv looks up the variables that [Variables] lists.
	LookupEnv func(name string) (string, bool)
	// Dir is the absolute folder that relative paths of programs start at. If empty, it is the process's working directory.
	Dir string
	// Image replaces the pinned sandbox image.
	Image string
	// Runsc is gVisor's program. It overrides MCPRUN_RUNSC.
	Runsc string
	// Logger may be nil.
	Logger *slog.Logger
}

// kind is one entry of the table of sandboxes.
type kind struct {
	name string // the name that its Backend reports
	flag string // the flag that selects it when --sandbox is auto; empty if there is none
	make func(o *Options, at *locations) sandbox.Backend
}

// kinds is the table of sandboxes, those that need the least from the machine first. Help, completion, doctor and the choice of a
// sandbox follow this order.
var kinds = []kind{
	{name: "embedded", make: func(o *Options, at *locations) sandbox.Backend {
		return embedded.New(&embedded.Options{Exe: at.exe, RuntimeDir: at.dir, Logger: o.Logger})
	}},
	{name: "process", make: func(o *Options, at *locations) sandbox.Backend {
		return process.New(&process.Options{Exe: at.exe, Logger: o.Logger, LookPath: o.lookPath, Node: at.node, Python: at.python})
	}},
	{name: "docker", flag: imageFlag, make: func(o *Options, at *locations) sandbox.Backend {
		return docker.New(o.engine(at))
	}},
	{name: "gvisor", make: func(o *Options, at *locations) sandbox.Backend {
		engine := o.engine(at)
		engine.Name, engine.Runtime = "gvisor", "runsc"
		return gvisor.New(gvisor.Options{
			Exe: at.exe, Runsc: at.runsc, Node: at.node, Python: at.python, LookPath: o.lookPath, RuntimeDir: at.dir,
			Engine: docker.New(engine), Logger: o.Logger,
		})
	}},
}

// engine returns the options of a sandbox in the Docker Engine.
func (o *Options) engine(at *locations) docker.Options {
	return docker.Options{Host: at.engine, CertDir: at.certs, Image: o.Image, RuntimeDir: at.dir, Exe: at.exe, Logger: o.Logger}
}

// Names returns the names of all sandboxes, in the order of List.
func Names() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// List returns every sandbox. The caller closes them.
func List(o Options) ([]sandbox.Backend, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find mcprun's own executable: %w", err)
	}
	at := o.locations()
	at.exe = exe
	list := make([]sandbox.Backend, len(kinds))
	for i, k := range kinds {
		list[i] = k.make(&o, &at)
	}
	return list, nil
}

// Docker returns only the sandbox that uses the Docker Engine. The caller closes it.
func Docker(o Options) *docker.Backend {
	at := o.locations()
	return docker.New(o.engine(&at))
}

// locations holds the paths and addresses from variables and options. Programs are names for lookPath.
type locations struct{ exe, dir, node, python, runsc, engine, certs string }

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
			file = name // not found: the key then holds the name
		}
		all = append(all, file)
	}
	return all
}

// RunChild must be the first call in main of every program that uses List or a script.Bundler. Such a program starts itself again
// as a child that bundles scripts, and as one that removes containers if this process is killed. In these children RunChild does
// not return. The first processes of sandboxes end before main (see package early).
func RunChild() {
	script.Child()
	docker.Init()
}

// Variables lists the environment variables that List and the sandboxes read.
func Variables() []string {
	return []string{
		"DOCKER_HOST", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY", "HOME", "USERPROFILE", "XDG_RUNTIME_DIR", "PATH",
		"MCPRUN_NODE", "MCPRUN_PYTHON", "MCPRUN_RUNSC",
	}
}

// RuntimeDir returns the private folder for files of runs in progress. It may not exist yet.
func RuntimeDir(lookup func(string) (string, bool)) string {
	if dir, ok := lookup("XDG_RUNTIME_DIR"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcprun")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("mcprun-%d", os.Geteuid()))
}

// lookPath finds programs like [exec.LookPath], but with LookupEnv's PATH and relative to Dir: in the daemon, the process's own
// PATH and working directory are not the client's.
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
