// Package interp finds the files of the machine's own node and python3 (programs, shared libraries, the standard
// library), so that a sandbox can show a script these files and nothing else of the machine. Start with [New].
package interp

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Interpreter lists the files that one runtime needs in the sandbox. They are shown at fixed places, so that no path of the machine is
// visible: the program in /usr/bin, libraries where the loader looks, Python's library in /usr/lib.
type Interpreter struct {
	Host   string // the program on this machine
	Inside string // the path in the sandbox
	// Version is that of Python, such as 3.11. It is empty for others.
	Version string
	// Files are shown read-only. A later one may be inside an earlier one.
	Files []File
	// Hidden lists folders below Files that appear empty: installed packages.
	Hidden []string
}

// File shows Source (a file or folder of the host; links are followed) at Target in the sandbox.
type File struct{ Source, Target string }

// Options configure a Finder.
type Options struct {
	// Node and Python name the interpreters: a path, or a name for LookPath. Empty: "node" and "python3".
	Node, Python string
	// LookPath finds a program by name, like exec.LookPath. Nil: only paths work, names are not found.
	LookPath func(name string) (string, error)
	// Elsewhere names sandboxes that bring their own interpreters, for the advice in a MissingError: "--sandbox docker".
	Elsewhere map[sandbox.Runtime]string
}

// Finder finds interpreters and caches the results. It is safe for concurrent use.
type Finder struct {
	opts Options

	mu       sync.Mutex
	known    map[sandbox.Runtime]*Interpreter
	packages map[string][]File // what packages in a folder need of the machine; see WithPackages
}

// New returns a Finder.
func New(opts Options) *Finder {
	if opts.Node == "" {
		opts.Node = "node"
	}
	if opts.Python == "" {
		opts.Python = "python3"
	}
	if opts.LookPath == nil {
		opts.LookPath = func(name string) (string, error) {
			if filepath.IsAbs(name) {
				return name, nil
			}
			return "", fmt.Errorf("%q: %w", name, fs.ErrNotExist)
		}
	}
	return &Finder{opts: opts, known: make(map[sandbox.Runtime]*Interpreter), packages: make(map[string][]File)}
}

const askTimeout = 10 * time.Second

// Find finds a runtime's interpreter, and caches it while its file exists. The caller must not change the result.
func (f *Finder) Find(ctx context.Context, rt sandbox.Runtime) (*Interpreter, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if in := f.known[rt]; in != nil {
		if _, err := os.Stat(in.Host); err == nil {
			return in, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var in *Interpreter
	var err error
	switch rt {
	case sandbox.Node:
		in, err = f.findNode(ctx)
	case sandbox.Python:
		in, err = f.findPython(ctx)
	default:
		return nil, fmt.Errorf("no interpreter on this machine runs %q", rt)
	}
	if err != nil {
		return nil, &MissingError{Runtime: rt, Err: err, elsewhere: f.opts.Elsewhere[rt]}
	}
	f.known[rt] = in
	return in, nil
}

// WithPackages returns the interpreter with the shared libraries of the machine that machine code in a folder of packages needs, such as
// that of C++. A folder is searched once. An empty folder returns the interpreter as it is.
func (f *Finder) WithPackages(in *Interpreter, folder string) (*Interpreter, error) {
	if folder == "" {
		return in, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	libraries, ok := f.packages[folder]
	if !ok {
		var err error
		if libraries, err = librariesOf(folder); err != nil {
			return nil, fmt.Errorf("read the packages of scripts: %w", err)
		}
		f.packages[folder] = libraries
	}
	with := *in
	with.Files = slices.Clip(in.Files)
	for _, lib := range libraries {
		if !slices.ContainsFunc(in.Files, func(have File) bool { return have.Target == lib.Target }) {
			with.Files = append(with.Files, lib)
		}
	}
	return &with, nil
}

// MissingError reports that an interpreter is not on this machine, or can't be used.
type MissingError struct {
	Runtime   sandbox.Runtime
	Err       error
	elsewhere string
}

func (e *MissingError) Error() string { return fmt.Sprintf("no usable %s: %v", e.Runtime, e.Err) }
func (e *MissingError) Unwrap() error { return e.Err }

// Hint returns what a person can do about the error.
func (e *MissingError) Hint() string {
	hint := "install " + e.Runtime.Wanted()
	if e.elsewhere != "" {
		hint += ", or use " + e.elsewhere
	}
	return hint
}

// ExitCode returns the exit code of a shell that cannot find a command.
func (e *MissingError) ExitCode() int { return exit.NoBackend }
