// Package embedded runs TypeScript and JavaScript without an installed runtime: on the QuickJS engine inside the mcprun
// binary, in a child process of that binary. Start with [New]; the program's main must call [Child] first.
//
// The engine is C translated to Go, so a bug in it is a memory fault, and any script can loop or use up memory. The child
// process contains that: a fault ends the child and never the host. On Linux the child also runs in the jail that package
// process uses (namespaces, no network, Landlock, a system call filter, limits), in which it cannot start programs. On other
// systems it is an ordinary process that opens files only through os.Root, and [sandbox.Status].Missing lists what is missing.
// The package does not isolate customers from each other.
package embedded

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
)

// Options configure a Backend; nil is valid.
type Options struct {
	// Exe is the program whose main calls Child first. Empty means the running program.
	Exe string
	// RuntimeDir holds the temporary folders of runs if no jail provides them. Empty means os.TempDir().
	RuntimeDir string
	// Logger receives debug messages. Nil discards them.
	Logger *slog.Logger

	// unjailed starts children without a jail, to test what other systems do.
	unjailed bool
}

// Backend is the embedded sandbox. It keeps no state between runs.
type Backend struct{ opts Options }

// New returns a Backend. Options may be nil.
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

// Name returns "embedded".
func (*Backend) Name() string { return "embedded" }

// Strength implements sandbox.Backend.
func (*Backend) Strength() sandbox.Strength { return sandbox.SharedKernel }

// Runtime returns QuickJS for TypeScript. There is no runtime for Python.
func (*Backend) Runtime(lang sandbox.Language) (sandbox.Runtime, bool) {
	return sandbox.QuickJS, lang == sandbox.LangTypeScript
}

// Probe reports whether the engine runs here, and how its child process is isolated.
func (b *Backend) Probe(ctx context.Context) sandbox.Status {
	s := sandbox.Status{Usable: true, Detail: engineName, Languages: []sandbox.Language{sandbox.LangTypeScript}}
	if b.jailed() {
		missing, err := jail.Probe(ctx, jail.Config{Exe: b.opts.Exe, AllowNoNamespaces: true})
		if err == nil {
			s.Missing, s.Holds, s.Lacks = missing, holds(true), lacks(true)
			return s
		}
		if !errors.Is(err, jail.ErrUnsupported) {
			return sandbox.Status{Detail: err.Error(), Remedy: "run mcprun doctor --verbose for details, or use --sandbox docker"}
		}
		b.opts.Logger.Debug("no jail for the embedded engine", "error", err)
	}
	s.Missing, s.Holds, s.Lacks = unjailedMissing(), holds(false), lacks(false)
	return s
}

// Close does nothing.
func (*Backend) Close() error { return nil }

// jailed reports whether children are started in a jail.
func (b *Backend) jailed() bool {
	return !b.opts.unjailed && runtime.GOOS == "linux" && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64")
}

// selfExe returns the path of the running binary, even if its file was replaced.
func selfExe() string {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	exe, err := os.Executable()
	if err != nil {
		return "" // starting it fails with exec's own error
	}
	return exe
}

// unjailedMissing lists the isolation that a child without a jail does not have.
func unjailedMissing() []string {
	missing := []string{
		"namespaces: not available; only the engine keeps scripts away from files and the network",
		"system-call filter: not available",
	}
	if runtime.GOOS != "windows" {
		missing = append(missing, "memory: limited by the engine only")
	}
	return missing
}
