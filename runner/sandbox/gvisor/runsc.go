package gvisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// installHint says how to install gVisor.
const installHint = "install gVisor: apt-get install runsc (Debian), https://gvisor.dev/docs/user_guide/install, or " +
	"with Go: go mod init x && go get gvisor.dev/gvisor@go && go build -o runsc gvisor.dev/gvisor/runsc; " +
	"then put runsc on PATH, or name it with --runsc (MCPRUN_RUNSC)"

// queryTime is how long runsc may take to print its version and flags.
const queryTime = 10 * time.Second

// tool is a runsc on this machine, with its capabilities. Releases have different flags.
type tool struct {
	path    string
	version string
	// passFD reports whether runsc hands descriptors to the guest. Otherwise the guest's first program is ours, and receives them over its
	// standard input.
	passFD bool
	// directFS reports whether gVisor's kernel opens files itself by default.
	directFS bool
	// mapped reports whether runsc has run in a user namespace that maps the caller.
	mapped atomic.Bool

	size    int64
	changed time.Time
}

// tools caches the program that was found. Its zero value is empty.
type tools struct {
	mu    sync.Mutex
	known *tool
}

// find finds runsc and queries its version and flags. It repeats the query if the file has changed.
func (t *tools) find(ctx context.Context, name string, lookPath func(string) (string, error)) (*tool, error) {
	path := name
	if !filepath.IsAbs(name) {
		if lookPath == nil {
			return nil, &UnavailableError{Err: fmt.Errorf("%q: %w", name, fs.ErrNotExist), hint: installHint}
		}
		var err error
		if path, err = lookPath(name); err != nil {
			return nil, &UnavailableError{Err: fmt.Errorf("gVisor is not installed: %w", err), hint: installHint}
		}
		if path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
	}
	st, err := os.Stat(path)
	if err != nil {
		return nil, &UnavailableError{Err: fmt.Errorf("gVisor is not installed: %w", err), hint: installHint}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.known; k != nil && k.path == path && k.size == st.Size() && k.changed.Equal(st.ModTime()) {
		return k, nil
	}
	found, err := query(ctx, path)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &UnavailableError{Err: err, hint: installHint}
	}
	found.size, found.changed = st.Size(), st.ModTime()
	t.known = found
	return found, nil
}

// query asks runsc for its version and the flags that matter.
func query(ctx context.Context, path string) (*tool, error) {
	version, err := output(ctx, path, "--version")
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(version, "\n")
	number, ok := strings.CutPrefix(strings.TrimSpace(first), "runsc version ")
	if !ok {
		return nil, fmt.Errorf("%s is not runsc: its version line is %.100q", path, first)
	}
	flags, err := output(ctx, path, "flags")
	if err != nil {
		return nil, err
	}
	for _, need := range []string{"-overlay2", "-host-uds", "-file-access-mounts"} {
		if !strings.Contains(flags, need) {
			return nil, fmt.Errorf("%s (version %s) is too old: it lacks the flag %s", path, number, need)
		}
	}
	help, err := output(ctx, path, "help", "run")
	if err != nil {
		return nil, err
	}
	return &tool{path: path, version: number, passFD: strings.Contains(help, "-pass-fd"), directFS: strings.Contains(flags, "-directfs")}, nil
}

func output(ctx context.Context, path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{}
	cmd.WaitDelay = time.Second
	text, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("run %s: %w", path, errors.Join(err, errors.New(strings.TrimSpace(string(text[:min(len(text), 500)])))))
	}
	return string(text), nil
}
