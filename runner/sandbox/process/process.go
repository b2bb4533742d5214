package process

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/interp"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/layout"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/meter"
)

const entry = "process"

// Init must be called first in main of every program that uses this backend. In the sandbox's own first process it
// does not return; in any other it does nothing.
func Init() { jail.Init(entry, nil) }

// Options configure a Backend.
type Options struct {
	// Exe is the program whose main calls Init; empty: the running binary.
	Exe string
	// Node and Python name the interpreters: a path, or a name for LookPath. Empty: "node" and "python3".
	Node, Python string
	// LookPath finds a program by name, like exec.LookPath. Nil: only paths work, names are not found.
	LookPath func(name string) (string, error)
	// Logger receives what a person may want to know about a run's isolation. Nil: nothing is logged.
	Logger *slog.Logger
}

// Backend runs each guest in a jail of its own. It keeps only what it has learned about the interpreters.
type Backend struct {
	opts         Options
	interpreters *interp.Finder
}

var (
	_ sandbox.Backend  = (*Backend)(nil)
	_ sandbox.Packager = (*Backend)(nil)
)

// New returns a backend; opts may be nil. It does not examine the machine: Probe reports whether the machine can run it.
func New(opts *Options) *Backend {
	b := &Backend{}
	if opts != nil {
		b.opts = *opts
	}
	b.interpreters = interp.New(interp.Options{
		Node: b.opts.Node, Python: b.opts.Python, LookPath: b.opts.LookPath,
		Elsewhere: map[sandbox.Runtime]string{sandbox.Node: "--sandbox embedded or docker", sandbox.Python: "--sandbox docker"},
	})
	if b.opts.Logger == nil {
		b.opts.Logger = slog.New(slog.DiscardHandler)
	}
	return b
}

// Name implements sandbox.Backend.
func (b *Backend) Name() string { return "process" }

// Strength implements sandbox.Backend.
func (*Backend) Strength() sandbox.Strength { return sandbox.SharedKernel }

// Runtime implements sandbox.Backend.
func (b *Backend) Runtime(lang sandbox.Language) (sandbox.Runtime, bool) {
	return sandbox.InterpreterOf(lang)
}

// Probe implements sandbox.Backend. It starts one empty jail, which takes some milliseconds: no other check is as reliable.
func (b *Backend) Probe(ctx context.Context) sandbox.Status {
	missing, err := jail.Probe(ctx, jail.Config{Exe: b.opts.Exe})
	if err != nil {
		return sandbox.Status{Detail: err.Error(), Remedy: jail.Remedy(err)}
	}
	st := sandbox.Status{Missing: missing}
	found := []string{"Linux namespaces"}
	var absent []string
	for _, lang := range []sandbox.Language{sandbox.LangTypeScript, sandbox.LangPython} {
		rt, _ := b.Runtime(lang)
		in, err := b.interpreters.Find(ctx, rt)
		if err != nil {
			absent = append(absent, err.Error())
			continue
		}
		st.Languages = append(st.Languages, lang)
		found = append(found, fmt.Sprintf("%s %s", rt, in.Host))
	}
	if st.Usable = len(st.Languages) > 0; !st.Usable {
		st.Detail = strings.Join(absent, "; ")
		st.Remedy = fmt.Sprintf("install %s, or %s, or use --sandbox embedded", sandbox.Node.Wanted(), sandbox.Python.Wanted())
		return st
	}
	st.Detail = strings.Join(append(found, absent...), ", ")
	st.Holds, st.Lacks = holds(), lacks()
	return st
}

// Start implements sandbox.Backend.
func (b *Backend) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	in, err := b.find(ctx, spec)
	if err != nil {
		return nil, err
	}
	if err := b.prepareFolders(spec); err != nil {
		return nil, err
	}
	heap := watchHeap(&spec)
	cfg, err := b.config(in, spec)
	if err != nil {
		return nil, err
	}
	bind := binding(spec)
	cfg.Mounts, cfg.Tmpfs = append(cfg.Mounts, bind.Mounts...), bind.Tmpfs
	cfg.Stdin, cfg.Stdout, cfg.Stderr = bind.Stdin, bind.Stdout, bind.Stderr
	if err := spec.Turn.Await(ctx); err != nil {
		return nil, err
	}
	child, err := jail.Start(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("start the process sandbox: %w", err)
	}
	b.report(child)
	return &guest{child: child, heap: heap, secret: spec.Secret}, nil
}

// find finds the interpreter of a run, and what its packages need.
func (b *Backend) find(ctx context.Context, spec sandbox.Spec) (*interp.Interpreter, error) {
	in, err := b.interpreters.Find(ctx, spec.Runtime)
	if err != nil {
		return nil, err
	}
	return b.interpreters.WithPackages(in, spec.Packages)
}

// PythonVersion implements sandbox.Packager.
func (b *Backend) PythonVersion(ctx context.Context) (string, error) {
	in, err := b.interpreters.Find(ctx, sandbox.Python)
	if err != nil {
		return "", err
	}
	return in.Version, nil
}

// report logs the isolation that a guest lacks.
func (b *Backend) report(child *jail.Child) {
	for _, m := range child.Missing() {
		b.opts.Logger.Info("the process sandbox runs with reduced isolation", "missing", m)
	}
}

// config converts the run to a jail's configuration, except for what binding returns.
func (b *Backend) config(in *interp.Interpreter, spec sandbox.Spec) (jail.Config, error) {
	if err := spec.Check(); err != nil {
		return jail.Config{}, err
	}
	uid, gid := account()
	cfg := jail.Config{
		ID: spec.ID, Exe: b.opts.Exe, Entry: entry,
		Program: in.Inside,
		Args:    layout.Arguments(spec),
		Env:     layout.Environment(),
		Secret:  spec.Secret,
		Dir:     sandbox.WorkspaceDir,
		Hidden:  in.Hidden,
		Network: spec.Network,
		Limits:  spec.Limits,
		Files:   layout.Files(spec, uid, gid),
	}
	for _, f := range append(slices.Clip(in.Files), layout.Packages(spec)...) {
		cfg.Mounts = append(cfg.Mounts, jail.Mount{Source: f.Source, Target: f.Target})
	}
	return cfg, nil
}

// account returns the user and group that the guest's programs run as, as they see it.
func account() (uid, gid int) {
	if uid = jail.User(); uid == 0 {
		uid = jail.UID
	}
	if gid = os.Getegid(); gid == 0 || uid == jail.UID {
		gid = jail.UID
	}
	return uid, gid
}

// prepareFolders makes the run's folders ready for the jail's user.
func (b *Backend) prepareFolders(spec sandbox.Spec) error {
	var user *layout.User
	if uid := jail.User(); uid != os.Geteuid() {
		user = &layout.User{UID: uid, Groups: []int{uid}} // its group has the same number
	}
	return layout.Prepare(spec, user)
}

// watchHeap watches node's stderr. It returns nil if the run does not use node.
func watchHeap(spec *sandbox.Spec) *meter.Heap {
	if spec.Runtime != sandbox.Node {
		return nil
	}
	next := spec.Stderr
	if next == nil {
		next = io.Discard
	}
	heap := meter.NewHeap(next)
	spec.Stderr = heap
	return heap
}

// binding returns what a guest can still be given after it was started.
func binding(spec sandbox.Spec) jail.Binding {
	bind := jail.Binding{Limits: spec.Limits, Stdin: spec.Stdin, Stdout: spec.Stdout, Stderr: spec.Stderr}
	if spec.Workspace == "" {
		bind.Tmpfs = []string{sandbox.WorkspaceDir}
	} else {
		bind.Mounts = append(bind.Mounts, jail.Mount{Source: spec.Workspace, Target: sandbox.WorkspaceDir, Writable: true})
	}
	for _, f := range layout.ReadOnly(spec) {
		bind.Mounts = append(bind.Mounts, jail.Mount{Source: f.Source, Target: f.Target})
	}
	return bind
}

// Close implements sandbox.Backend; there is nothing to release.
func (b *Backend) Close() error { return nil }
