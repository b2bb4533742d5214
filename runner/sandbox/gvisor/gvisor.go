// Package gvisor runs guests on gVisor, a kernel of its own in user space: a script's system calls are answered by that kernel and do not
// reach the machine's. It isolates most strongly of all sandboxes. Start with [New]; the program's main begins with [Init].
//
// The backend starts runsc with the machine's own node and python3, and shows the script their files and nothing else of the machine. This
// needs no daemon and no image. It works for root, and for everybody if user namespaces are allowed. If it is not possible, a Docker Engine
// with runsc as a runtime is used instead: see [Options].Engine.
//
// Each run has a folder of its own in the runtime folder. When the host is killed, the guest's processes end with it, and package reaper
// removes the folder and the control group.
package gvisor

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/interp"
)

// Options configure a Backend.
type Options struct {
	// Exe is the program whose main calls Init. Empty: the running binary.
	Exe string
	// Runsc names gVisor's program: a path, or a name for LookPath. Empty: "runsc".
	Runsc string
	// Node and Python name the interpreters: a path, or a name for LookPath. Empty: "node" and "python3".
	Node, Python string
	// LookPath finds a program by name, like exec.LookPath. Nil: only paths work, names are not found.
	LookPath func(name string) (string, error)
	// RuntimeDir is the folder for the files of running guests, which other sandboxes may use as well. It is created if missing, and
	// refused if another user could enter it. Empty: mcprun-<uid> in the folder for temporary files.
	RuntimeDir string
	// Engine runs guests if runsc cannot be started directly: a container engine with a gVisor runtime. It is closed with this backend.
	// Nil: there is none.
	Engine Engine
	// Logger receives what a person may want to know about a run. Nil: nothing is logged.
	Logger *slog.Logger
}

// Engine is a backend that runs guests on gVisor by other means.
type Engine interface {
	sandbox.Backend
	sandbox.Warmer
}

// Backend runs each guest in a gVisor of its own. It is safe for concurrent use.
type Backend struct {
	opts   Options
	log    *slog.Logger
	interp *interp.Finder
	tools  tools
	entry  struct {
		mu    sync.Mutex
		files []interp.File // nil until it is known
	}
}

var (
	_ sandbox.Backend  = (*Backend)(nil)
	_ sandbox.Warmer   = (*Backend)(nil)
	_ sandbox.Packager = (*Backend)(nil)
)

// New returns a backend. It does not examine the machine: Probe reports whether the machine can run it.
func New(opts Options) *Backend {
	if opts.Runsc == "" {
		opts.Runsc = "runsc"
	}
	if opts.RuntimeDir == "" {
		opts.RuntimeDir = filepath.Join(os.TempDir(), fmt.Sprintf("mcprun-%d", os.Geteuid()))
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	find := interp.New(interp.Options{Node: opts.Node, Python: opts.Python, LookPath: opts.LookPath})
	return &Backend{opts: opts, log: opts.Logger, interp: find}
}

// Name implements sandbox.Backend.
func (b *Backend) Name() string { return "gvisor" }

// Strength implements sandbox.Backend.
func (*Backend) Strength() sandbox.Strength { return sandbox.OwnKernel }

// Runtime implements sandbox.Backend.
func (b *Backend) Runtime(lang sandbox.Language) (sandbox.Runtime, bool) {
	return sandbox.InterpreterOf(lang)
}

// Start implements sandbox.Backend.
func (b *Backend) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	d, err := b.direct(ctx, spec.Runtime)
	if err != nil {
		if b.opts.Engine == nil || ctx.Err() != nil {
			return nil, err
		}
		p, engineErr := b.opts.Engine.Start(ctx, spec)
		return p, unavailable(err, engineErr)
	}
	if err := spec.Turn.Await(ctx); err != nil {
		return nil, err
	}
	return d.start(ctx, spec)
}

// Shape implements sandbox.Warmer.
func (b *Backend) Shape(spec sandbox.Spec) sandbox.Shape {
	d, err := b.direct(context.Background(), spec.Runtime)
	switch {
	case err == nil:
		return d.shape(spec)
	case b.opts.Engine != nil:
		return b.opts.Engine.Shape(spec)
	}
	return completeShape(spec)
}

// completeShape returns the shape of a guest that adoption does not change.
func completeShape(spec sandbox.Spec) sandbox.Shape {
	return sandbox.Shape{Runtime: spec.Runtime, Tree: spec.Tree, Skills: spec.Skills, Workspace: spec.Workspace, Limits: spec.Limits.WithDefaults()}.WithPackages(spec)
}

// Warm implements sandbox.Warmer.
func (b *Backend) Warm(ctx context.Context, spec sandbox.Spec) (sandbox.Idle, error) {
	d, err := b.direct(ctx, spec.Runtime)
	if err != nil {
		if b.opts.Engine == nil || ctx.Err() != nil {
			return nil, err
		}
		idle, engineErr := b.opts.Engine.Warm(ctx, spec)
		return idle, unavailable(err, engineErr)
	}
	if err := spec.Turn.Await(ctx); err != nil {
		return nil, err
	}
	return d.warm(ctx, spec)
}

// PythonVersion implements sandbox.Packager.
func (b *Backend) PythonVersion(ctx context.Context) (string, error) {
	_, err := b.direct(ctx, sandbox.Python)
	if engine, ok := b.opts.Engine.(sandbox.Packager); ok && err != nil && ctx.Err() == nil {
		version, engineErr := engine.PythonVersion(ctx)
		return version, unavailable(err, engineErr)
	}
	if err != nil {
		return "", err
	}
	in, err := b.interp.Find(ctx, sandbox.Python)
	if err != nil {
		return "", err
	}
	return in.Version, nil
}

// Close implements sandbox.Backend.
func (b *Backend) Close() error {
	if b.opts.Engine == nil {
		return nil
	}
	return b.opts.Engine.Close()
}

// UnavailableError is returned if this machine cannot run gVisor.
type UnavailableError struct {
	Err  error
	hint string
}

func (e *UnavailableError) Error() string { return e.Err.Error() }
func (e *UnavailableError) Unwrap() error { return e.Err }

// Hint returns what a person can do about it.
func (e *UnavailableError) Hint() string { return e.hint }

// ExitCode returns mcprun's exit code for a sandbox that is not available.
func (e *UnavailableError) ExitCode() int { return exit.NoBackend }

// unavailable returns why neither runsc nor the engine can start a guest, or nil if the engine can.
func unavailable(direct, engine error) error {
	if engine == nil {
		return nil
	}
	return &UnavailableError{Err: fmt.Errorf("%w; by a container engine: %w", direct, engine), hint: exit.Hint(direct)}
}
