// Package docker runs guests in hardened containers of a local Docker Engine: no network, a read-only root, no capabilities, no
// new privileges, an unprivileged user, a system call allow list of its own (seccomp.json), and limits on memory, processors,
// processes, descriptors and file sizes. Only the workspace is writable, and a /tmp of bounded size. A guest reaches its host
// through one unix socket, which accepts one connection and is then gone; enter.py makes the connection before the guest program
// starts, and ensures that no other can be made.
//
// Start with [New]. Only the image that image.lock.json pins is used, unless the caller names another. An image that merely has
// the same name is not run. Engines that cannot bound memory and processes are refused, except the caller's own rootless ones,
// whose containers this process watches instead: see watch.go.
//
// A remote engine, such as Docker Desktop or one on another machine, shares neither folders nor sockets with this process:
// it gets the run's files as archives (see remote.go).
//
// The engine removes a container when it ends, with its volumes. If this process is killed, another one removes its
// containers and folders: see guard.go.
//
// If the engine's containers run on this machine, the package reads their control groups and first processes directly
// (package kernelview): for limits that engines lack, to kill quickly, and to mount a run's folders in a container that waits for
// its run. Podman's service serves as an engine too (see podman.go).
package docker

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/moby/moby/client"
	"golang.org/x/sync/semaphore"

	"github.com/mcpgen/mcpgen/gen/owner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// nobody is the user and group of guests that root starts.
const nobody = 65534

//go:embed seccomp.json
var seccompProfile string

//go:embed enter.py
var enterProgram []byte

// Backend starts containers. It is safe for concurrent use.
type Backend struct {
	opt    Options
	log    *slog.Logger
	client *client.Client
	uid    int // the guest's user and group
	gid    int
	broken error // what is wrong with the engine's address, found by New

	lock     []byte // imageLock, except in tests
	registry string // the constant, except in tests

	mu     sync.Mutex
	engine *engine // facts about the engine; nil until it has answered once

	// Podman 4.3 creates one container at a time: otherwise it occasionally crashes ("concurrent map writes").
	creating *semaphore.Weighted

	owner string // this process, in the labels of its containers

	guardMu sync.Mutex
	release func() // nil while this process's containers are not guarded

	left atomic.Bool // a container was not removed because the engine was gone
}

// New returns a backend. It does not connect to the engine; Probe and Start report what is wrong with its address.
func New(opt Options) *Backend {
	if opt.Name == "" {
		opt.Name = "docker"
	}
	if opt.Host == "" {
		opt.Host = DefaultHost
	}
	if opt.RuntimeDir == "" {
		opt.RuntimeDir = filepath.Join(os.TempDir(), fmt.Sprintf("mcprun-%d", os.Geteuid()))
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	b := &Backend{opt: opt, log: opt.Logger, uid: os.Geteuid(), gid: os.Getegid(), creating: semaphore.NewWeighted(1),
		lock: imageLock, registry: registry}
	if b.uid == 0 {
		b.uid, b.gid = nobody, nobody
	}
	if b.broken = checkHost(opt.Host); b.broken != nil {
		return b
	}
	me, err := owner.Self()
	if err != nil {
		b.broken = err
		return b
	}
	b.owner = me.String()
	how, err := clientOptions(opt)
	if err != nil {
		b.broken = err
		return b
	}
	b.client, b.broken = client.New(how...)
	return b
}

// Name implements sandbox.Backend.
func (b *Backend) Name() string { return b.opt.Name }

// Strength implements sandbox.Backend.
func (b *Backend) Strength() sandbox.Strength { return sandbox.Container }

// Runtime returns node for TypeScript and python for Python.
func (b *Backend) Runtime(lang sandbox.Language) (sandbox.Runtime, bool) {
	return sandbox.InterpreterOf(lang)
}

// Close releases the connections to the engine. Running guests continue.
func (b *Backend) Close() error {
	b.unguard()
	if b.client == nil {
		return nil
	}
	return b.client.Close()
}

var _ sandbox.Packager = (*Backend)(nil)

// detach returns a context that outlives ctx, for cleaning up and for requests that must be completed.
func detach(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }
