package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"
	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/runner/exit"
)

// answerTime is how long an engine may take for a simple request: on a busy machine it is slow.
const answerTime = 10 * time.Second

// engine holds the facts about an engine that do not change while it runs.
type engine struct {
	version  string
	cgroup   string
	rootless bool // the engine runs as the caller, and its root is the caller
	watched  bool // the engine cannot enforce limits; this process does: see watch.go
	podman   bool // it is Podman, behind Docker's interface
	remapped bool // the engine maps the users of its containers to others
	missing  []string
	arch     string // in Go's terms
	remote   string // why it shares neither folders nor sockets with this process; empty if it does
}

func (e *engine) product() string {
	if e.podman {
		return "Podman"
	}
	return "Docker Engine"
}

// EngineError reports that no usable engine was found.
type EngineError struct {
	Host string
	Err  error
	hint string
}

func (e *EngineError) Error() string {
	if e.hint == "" && errors.Is(e.Err, syscall.ENOENT) {
		return "no docker engine at " + e.Host
	}
	if e.hint == "" {
		return fmt.Sprintf("docker engine at %s does not answer: %v", e.Host, rootCause(e.Err))
	}
	return fmt.Sprintf("docker engine at %s cannot be used: %v", e.Host, e.Err)
}

// rootCause returns the operating system's error without the client's text.
func rootCause(err error) error {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return errno
	case denied(err):
		return fs.ErrPermission
	case isSlow(err):
		return errNoAnswer
	}
	return err
}

// denied reports whether the system does not let this user reach the engine. The client keeps only the text of that error.
func denied(err error) bool {
	return err != nil && (errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), fs.ErrPermission.Error()))
}

func (e *EngineError) Unwrap() error { return e.Err }

// Hint returns what a person can do about it.
func (e *EngineError) Hint() string {
	switch {
	case e.hint != "":
		return e.hint
	case denied(e.Err):
		return "join the socket's group (sudo usermod -aG docker $USER, then log in again; members have root's power), or use a rootless engine or another sandbox"
	}
	return "start Docker (sudo systemctl start docker), check that you may use it (docker version), or choose another sandbox"
}

// ExitCode returns mcprun's code for a sandbox that is not available.
func (e *EngineError) ExitCode() int { return exit.NoBackend }

// contextErr returns why ctx ended; a connection may see the deadline first.
func contextErr(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

var (
	errNoAnswer     = errors.New("no answer in time")
	errEngineClosed = errors.New("the engine closed the connection")
)

// engineError names the engine in the errors of requests that it did not answer, and returns others as they are. The client does
// not mark all of them: for a connection of its own, as for attach, a refusal is the network's error and a hang-up is EOF.
func (b *Backend) engineError(err error) error {
	switch {
	case err == nil, errors.As(err, new(*EngineError)):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return &EngineError{Host: b.opt.Host, Err: errNoAnswer}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &EngineError{Host: b.opt.Host, Err: errEngineClosed}
	case client.IsErrConnectionFailed(err), errors.As(err, new(*net.OpError)):
		return &EngineError{Host: b.opt.Host, Err: err}
	}
	return err
}

// facts returns the facts about the engine, which are requested once. An engine that would not enforce what this package
// promises is an error.
func (b *Backend) facts(ctx context.Context) (*engine, error) {
	if b.broken != nil {
		return nil, b.broken
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.engine != nil {
		return b.engine, nil
	}
	e, err := b.queryEngine(ctx)
	if err != nil {
		return nil, err
	}
	b.engine = e
	return e, nil
}

func (b *Backend) queryEngine(ctx context.Context) (*engine, error) {
	reqCtx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var res client.SystemInfoResult
	var version client.ServerVersionResult
	// At the same time: Podman takes some tenths of a second for each.
	var both errgroup.Group
	both.Go(func() (err error) {
		res, err = b.client.Info(reqCtx, client.InfoOptions{})
		return err
	})
	both.Go(func() (err error) {
		version, err = b.client.ServerVersion(reqCtx, client.ServerVersionOptions{})
		return err
	})
	err := both.Wait()
	if ended := contextErr(ctx); ended != nil { // the caller ended this, not the engine
		return nil, ended
	}
	switch {
	case err != nil && reqCtx.Err() != nil:
		return nil, &EngineError{Host: b.opt.Host, Err: errNoAnswer}
	case err != nil:
		return nil, b.engineError(err)
	}
	podman := slices.ContainsFunc(version.Components, func(c system.ComponentVersion) bool { return c.Name == "Podman Engine" })
	if podman {
		if err := b.queryPodman(reqCtx, &res.Info); err != nil {
			return nil, b.engineError(err)
		}
	}
	e, refused := engineFrom(res.Info, b.opt.Runtime)
	if refused != nil {
		refused.Host = b.opt.Host
		return nil, refused
	}
	e.podman = podman
	if why := b.whyRemote(res.Info); why != "" {
		e.markRemote(why)
	}
	if err := b.check(e); err != nil {
		return nil, err
	}
	if b.plainTCP() {
		e.missing = append(e.missing, "encryption: the engine is reached without TLS; others on the network can read and change a run")
	}
	return e, nil
}

// check refuses an engine that cannot do what is needed because of where it runs.
func (b *Backend) check(e *engine) error {
	if err := b.checkRemote(e); err != nil {
		return err
	}
	return b.checkWatched(e)
}

// engineFrom returns what the engine's description says about it. An engine that cannot enforce the limits, or does not have
// the OCI runtime, is an error.
func engineFrom(info system.Info, runtime string) (*engine, *EngineError) {
	e := &engine{
		version:  info.ServerVersion,
		cgroup:   info.CgroupVersion,
		rootless: hasOption(info.SecurityOptions, "rootless"),
		remapped: hasOption(info.SecurityOptions, "userns"),
		arch:     goArch(info.Architecture),
	}
	refuse := func(hint, format string, args ...any) (*engine, *EngineError) {
		return nil, &EngineError{Err: fmt.Errorf(format, args...), hint: hint}
	}
	switch {
	case info.OSType != "" && info.OSType != "linux":
		return refuse("switch it to Linux containers, or use another sandbox", "it runs %s containers", info.OSType)
	case !hasOption(info.SecurityOptions, "seccomp"):
		return refuse("use an engine and a kernel with seccomp", "it does not filter system calls (seccomp)")
	case e.rootless && (!info.MemoryLimit || !info.PidsLimit):
		e.watched = true
		e.missing = append(e.missing, "cgroup: not available to this rootless engine; a watchdog limits memory, processes and processor time")
	case !info.MemoryLimit:
		return refuse("enable the memory cgroup", "it does not limit memory")
	case !info.PidsLimit:
		return refuse("enable the pids cgroup", "it does not limit processes")
	}
	if _, ok := info.Runtimes[runtime]; runtime != "" && !ok {
		return refuse(fmt.Sprintf("add %q to \"runtimes\" in the engine's daemon.json and restart it", runtime), "it has no OCI runtime %q", runtime)
	}
	if !info.CPUCfsQuota {
		e.missing = append(e.missing, "cpu quota: not supported by the engine; a run can use every processor")
	}
	if !info.SwapLimit && !e.watched {
		e.missing = append(e.missing, "swap limit: not supported by the engine; a run can use as much swap as memory")
	}
	if e.remapped {
		e.missing = append(e.missing, "user namespace: the engine's own mapping is turned off for runs, because they write to the workspace")
	}
	return e, nil
}

// hasOption looks for name in a list like "name=seccomp,profile=default".
func hasOption(options []string, name string) bool {
	return slices.ContainsFunc(options, func(o string) bool {
		first, _, _ := strings.Cut(o, ",")
		return strings.TrimPrefix(first, "name=") == name
	})
}

// gone reports whether err means that the requested thing does not exist.
func gone(err error) bool { return errdefs.IsNotFound(err) }
