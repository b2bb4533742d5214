// Package embedded runs TypeScript and JavaScript with nothing installed: on the QuickJS engine inside the mcprun
// binary, in a child process of that same binary. Start with [New]; the program's main must begin with [Child].
//
// The engine is C made into Go, so its faults are memory faults, and JavaScript can always loop or grow. The child
// is what bounds that: a fault, a native loop or a blow-up is a dead child and never a dead host. On Linux the child
// also lives in the jail that package process uses (namespaces, no network, Landlock, a system-call filter,
// limits), from which it can start no program. Elsewhere it is an ordinary process that touches files only through
// os.Root, and [sandbox.Status].Missing says what that lacks. It is no boundary between customers.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
)

// Options configure a Backend; nil is valid.
type Options struct {
	// Exe is the program whose main begins with Child. Empty: the running one.
	Exe string
	// RuntimeDir holds the empty folders of runs without a workspace, where the jail does not make them. Empty: the
	// system's folder for temporary files.
	RuntimeDir string
	// Logger gets what is of no interest to a script. Nil: discarded.
	Logger *slog.Logger

	// plain starts children without a jail even where there is one, for tests of what other systems do.
	plain bool
}

// Backend is the embedded sandbox. It holds nothing between runs.
type Backend struct{ opts Options }

// New makes a Backend.
func New(opts *Options) *Backend {
	b := &Backend{}
	if opts != nil {
		b.opts = *opts
	}
	if b.opts.Logger == nil {
		b.opts.Logger = slog.New(slog.DiscardHandler)
	}
	if b.opts.RuntimeDir == "" {
		b.opts.RuntimeDir = os.TempDir()
	}
	if b.opts.Exe == "" {
		b.opts.Exe = selfExe()
	}
	return b
}

var _ sandbox.Backend = (*Backend)(nil)

// Name is "embedded".
func (*Backend) Name() string { return "embedded" }

// Runtime is QuickJS for TypeScript; there is no Python here.
func (*Backend) Runtime(lang sandbox.Language) (sandbox.Runtime, bool) {
	return sandbox.QuickJS, lang == sandbox.LangTypeScript
}

// Probe tells what isolation the child gets.
func (b *Backend) Probe(ctx context.Context) sandbox.Status {
	if !engineAvailable {
		return sandbox.Status{
			Detail: fmt.Sprintf("the engine does not run on %s/%s", runtime.GOOS, runtime.GOARCH),
			Remedy: "use a 64-bit build of mcprun, or --sandbox docker",
		}
	}
	s := sandbox.Status{Usable: true, Detail: engineName, Languages: []sandbox.Language{sandbox.LangTypeScript}}
	if b.jailed() {
		missing, err := jail.Probe(ctx, jail.Config{Exe: b.opts.Exe, AllowNoNamespaces: true})
		if err == nil {
			s.Missing, s.Holds, s.Lacks = missing, holds(true), lacks(true)
			return s
		}
		if !errors.Is(err, jail.ErrUnsupported) {
			return sandbox.Status{Detail: err.Error(), Remedy: "run it again with --verbose, or use --sandbox docker"}
		}
		b.opts.Logger.Debug("no jail for the embedded engine", "error", err)
	}
	s.Missing, s.Holds, s.Lacks = plainMissing(), holds(false), lacks(false)
	return s
}

// Sweep removes what died hosts left: folders of plain runs, and the jail's groups.
func (b *Backend) Sweep(context.Context) error {
	err := sweepScratch(b.opts.RuntimeDir)
	if b.jailed() {
		err = errors.Join(err, jail.Sweep())
	}
	return err
}

// Close has nothing to release.
func (*Backend) Close() error { return nil }

// jailed tells whether children are started in a jail.
func (b *Backend) jailed() bool {
	return !b.opts.plain && runtime.GOOS == "linux" && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64")
}

// selfExe is the running binary, also after its file was replaced.
func selfExe() string {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	exe, err := os.Executable()
	if err != nil {
		return "" // starting it says that there is no command
	}
	return exe
}

// plainMissing lists what a child without a jail lacks.
func plainMissing() []string {
	missing := []string{
		"namespaces: none on this system; the engine itself is what keeps scripts from files and network",
		"system-call filter: none on this system",
	}
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		missing = append(missing, "memory: bounded inside the engine only")
	}
	return missing
}
