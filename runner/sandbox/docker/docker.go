// Package docker runs guests in hardened containers of a local Docker Engine: no network, a read-only root, no
// capabilities, no new privileges, an unprivileged user, a system call allow list of its own (seccomp.json), and limits
// on memory, processors, processes, descriptors and file sizes. What is writable is the workspace and a /tmp of bounded
// size. A guest reaches its host through one unix socket, which accepts one connection and is then gone; enter.py makes
// the connection before the guest program starts, and sees to it that no other can be made.
//
// Start with [New]. The image is the one that image.lock.json pins and nothing else, unless the caller names another:
// an image that merely has the same name is not run. Engines that cannot bound memory and processes are refused, but for the
// caller's own rootless ones, whose containers this process watches over instead: see watch.go.
//
// An engine with which neither folders nor sockets can be shared, as Docker Desktop and engines on other machines, gets
// the run's files as archives: see apart.go.
//
// A container removes itself when it ends, also when mcprun is not there any more: its guest ends when the connection
// is lost. [Backend.Sweep] removes the rest, as it does what an engine has left that went away during a run.
//
// Where the engine's containers run on this machine, their control groups and first processes are looked at directly
// (see inside): for limits that no engine has, for a quick end, and to give a container that waits its run's folders.
// Podman's service serves as an engine too (see podman.go).
package docker

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/moby/moby/client"
	"golang.org/x/sync/semaphore"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
)

// DefaultHost is where an engine listens that was installed for the whole machine.
const DefaultHost = client.DefaultDockerHost

// nobody is the user and group of guests that root starts.
const nobody = 65534

//go:embed seccomp.json
var seccompProfile string

//go:embed enter.py
var enterProgram []byte

// Options say which engine and image to use, and as whom guests run.
type Options struct {
	// Host is the engine's address, as in DOCKER_HOST: unix:///path/to/socket, tcp://host:port or npipe:////./pipe/name.
	// Empty: DefaultHost. The engine need not be on this machine.
	Host string
	// CertDir is the folder of ca.pem, cert.pem and key.pem, as in DOCKER_CERT_PATH. With it an engine behind tcp:// is
	// spoken to over TLS, and is always verified. Empty: no TLS.
	CertDir string
	// Image is the reference or ID of an image to use in place of the pinned one. It needs node and python3 on
	// /usr/local/bin:/usr/bin:/bin. What it says about environment, user, program and health is ignored; one that
	// declares volumes is refused.
	Image string
	// RuntimeDir is the folder for the sockets and guest programs of running guests, which other sandboxes may use as
	// well. It is created if missing, and
	// refused when another user could enter it. The engine must see it under the same path. Empty: mcprun-<uid>
	// in the folder for temporary files.
	RuntimeDir string
	// UID and GID are the guest's. Zero: those of this process, or 65534 when it runs as root.
	UID, GID int
	// Name is the word a person selects the backend by, and what the sandbox is called in messages. Empty: "docker".
	Name string
	// Runtime is the OCI runtime that runs the containers, by the name that the engine knows it by ("runsc"). An engine
	// that does not know it is refused. It is to have a kernel of its own, which then bounds processes. Empty: the engine's
	// default, which has none.
	Runtime string
	// CPUs is how many processors a guest may use. Zero: 2.
	CPUs float64
	// Guard is called once, before the first container is made: from then on something is to call Sweep when this process
	// ends without having ended its guests, as one that is killed does. Close calls what it returns, unless the engine was
	// gone when a guest was to be removed. It should not take long. Nil: they are left to the next Sweep, where they do not
	// end by themselves.
	Guard func() (release func())
	// Logger is told about what could not be cleaned up, and about starts in detail. Nil: nobody is.
	Logger *slog.Logger
}

// Backend starts containers. It is safe for concurrent use.
type Backend struct {
	opt    Options
	log    *slog.Logger
	client *client.Client
	broken error // why the engine's address is of no use, found by New

	agreeMu sync.Mutex
	agreed  bool // the client knows which version of the API it speaks

	mu     sync.Mutex
	engine *engine // what is known about the engine; nil until it has answered once
	// Whether running containers can be entered.
	triedEnter bool
	noEnter    error

	readable folder.Readable

	// Of Podman: it now and then crashes ("concurrent map writes"), or misses the users to map, when containers are made
	// at the same time.
	makingOne *semaphore.Weighted

	guardOnce sync.Once
	release   func() // of Guard; nil until it was called

	orphansMu sync.Mutex
	orphans   map[string]bool // containers that were not removed because the engine was gone
}

// New returns a backend. It does not talk to the engine; what is wrong with its address is said by Probe and Start.
func New(opt Options) *Backend {
	if opt.Host == "" {
		opt.Host = DefaultHost
	}
	if opt.RuntimeDir == "" {
		opt.RuntimeDir = filepath.Join(os.TempDir(), fmt.Sprintf("mcprun-%d", os.Geteuid()))
	}
	if opt.UID == 0 {
		opt.UID = os.Geteuid()
	}
	if opt.GID == 0 {
		opt.GID = os.Getegid()
	}
	if os.Geteuid() == 0 && opt.UID == 0 {
		opt.UID, opt.GID = nobody, nobody
	}
	if opt.Name == "" {
		opt.Name = "docker"
	}
	if opt.CPUs == 0 {
		opt.CPUs = 2
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	b := &Backend{opt: opt, log: opt.Logger, makingOne: semaphore.NewWeighted(1)}
	if b.broken = checkHost(opt.Host); b.broken != nil {
		return b
	}
	how, err := clientOptions(opt)
	if err != nil {
		b.broken = err
		return b
	}
	b.client, b.broken = client.New(how...)
	return b
}

// Name is that of the Options.
func (b *Backend) Name() string { return b.opt.Name }

// Runtime is node for TypeScript and python for Python.
func (b *Backend) Runtime(lang sandbox.Language) (sandbox.Runtime, bool) {
	switch lang {
	case sandbox.LangTypeScript:
		return sandbox.Node, true
	case sandbox.LangPython:
		return sandbox.Python, true
	}
	return "", false
}

// guard sees to it that what this process leaves is removed should it be killed.
func (b *Backend) guard() {
	b.guardOnce.Do(func() {
		if b.opt.Guard != nil {
			b.release = b.opt.Guard()
		}
	})
}

// Close releases the connections to the engine. Running guests go on.
func (b *Backend) Close() error {
	b.guardOnce.Do(func() {}) // whoever is at it has finished, and nobody begins
	if b.release != nil && !b.hasOrphans() {
		b.release()
	}
	if b.client == nil {
		return nil
	}
	return b.client.Close()
}

var _ sandbox.Backend = (*Backend)(nil)

// detach returns a context that outlives ctx: what cleans up, or must not be left half done, goes on when the run is
// over.
func detach(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }
