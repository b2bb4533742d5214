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
)

// answerTime is how long an engine may take for a simple question before it counts as dead.
const answerTime = 2 * time.Second

// busyTime is how long one that has answered before may take: on a machine with more to do than it can, it is slow.
const busyTime = 10 * time.Second

// engine is what matters about an engine and does not change while it lives.
type engine struct {
	version  string
	cgroup   string
	rootless bool // the engine runs as the caller: its root is the caller, and nobody more
	watched  bool // the engine cannot hold the limits of its containers; this process does: see watch
	podman   bool // it is Podman, behind Docker's interface
	remapped bool // the engine maps the users of its containers to others
	missing  []string
	arch     string // by Go's name of it
	apart    string // why it shares neither folders nor sockets with this process; empty when it does
}

func (e *engine) product() string {
	if e.podman {
		return "Podman"
	}
	return "Docker Engine"
}

// EngineError says that there is no engine that can be used.
type EngineError struct {
	Host string
	Err  error
	hint string
}

func (e *EngineError) Error() string {
	if e.hint == "" {
		return fmt.Sprintf("docker engine does not answer at %s: %v", e.Host, plainly(e.Err))
	}
	return fmt.Sprintf("docker engine at %s cannot be used: %v", e.Host, e.Err)
}

// plainly is what the system says: the client wraps it in the address, twice, and advice.
func plainly(err error) error {
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

// denied tells whether the system does not let this user reach the engine. Of that error the client keeps the words only.
func denied(err error) bool {
	return err != nil && (errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), fs.ErrPermission.Error()))
}

func (e *EngineError) Unwrap() error { return e.Err }

// Hint is what a person can do about it.
func (e *EngineError) Hint() string {
	switch {
	case e.hint != "":
		return e.hint
	case denied(e.Err):
		return "join the group that its socket belongs to (sudo usermod -aG docker $USER, then log in anew), which makes you as mighty as root; or use a rootless engine or another sandbox"
	}
	return "start it (sudo systemctl start docker), see that you may use it (docker version), or choose another sandbox"
}

// ExitCode is mcprun's for a sandbox that is not there.
func (e *EngineError) ExitCode() int { return 127 }

// over is why ctx has ended, also in the moment when a connection has noticed its deadline before it has itself.
func over(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

var (
	errNoAnswer = errors.New("no answer in time")
	errHungUp   = errors.New("it closed the connection")
)

// asked names the engine in the errors of requests that it did not answer, and leaves its answers alone.
func (b *Backend) asked(err error) error {
	var already *EngineError
	switch {
	case err == nil, errors.As(err, &already):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return &EngineError{Host: b.opt.Host, Err: errNoAnswer}
	case client.IsErrConnectionFailed(err):
		return &EngineError{Host: b.opt.Host, Err: err}
	}
	return err
}

// askedToConnect is asked for a request that makes a connection of its own, which the client does by other means: a
// refusal, and an end before any answer, are not marked as such.
func (b *Backend) askedToConnect(err error) error {
	var refused *net.OpError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &EngineError{Host: b.opt.Host, Err: errHungUp}
	case errors.As(err, &refused):
		return &EngineError{Host: b.opt.Host, Err: err}
	}
	return b.asked(err)
}

// agree settles the version of the API with the engine, once. The client would do so by itself with its first request; of
// two at the same time, though, the one whose question fails reads the version while the other's answer is written.
func (b *Backend) agree(ctx context.Context) error {
	b.agreeMu.Lock()
	defer b.agreeMu.Unlock()
	if b.agreed {
		return nil
	}
	_, err := b.client.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true})
	b.agreed = err == nil
	return err
}

// facts asks the engine what it is, once. An engine that would not enforce what this package promises is an error.
func (b *Backend) facts(ctx context.Context) (*engine, error) {
	if b.broken != nil {
		return nil, b.broken
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.engine != nil {
		return b.engine, nil
	}
	e, err := b.askFacts(ctx)
	if err != nil {
		return nil, err
	}
	b.engine = e
	return e, nil
}

// patience ends after answerTime if the engine is dead, and after busyTime if it lives and merely is slow: Podman asks other
// programs for most answers.
func (b *Backend) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	asking, cancel := context.WithTimeout(ctx, busyTime)
	doubt := time.AfterFunc(answerTime-pingTime, func() {
		if b.ping() != nil {
			cancel()
		}
	})
	return asking, func() { doubt.Stop(); cancel() }
}

// patiently asks the engine one question with patience. An error says what was wanted, and whether the engine was silent.
func (b *Backend) patiently(ctx context.Context, what string, ask func(context.Context) error) error {
	asking, cancel := b.patience(ctx)
	defer cancel()
	err := ask(asking)
	switch {
	case err == nil:
		return nil
	case asking.Err() != nil && ctx.Err() == nil:
		err = &EngineError{Host: b.opt.Host, Err: errNoAnswer}
	}
	return fmt.Errorf("%s: %w", what, b.asked(err))
}

func (b *Backend) askFacts(ctx context.Context) (*engine, error) {
	asking, cancel := b.patience(ctx)
	defer cancel()
	var res client.SystemInfoResult
	var version client.ServerVersionResult
	err := b.agree(asking)
	if err == nil {
		// At the same time: Podman takes some tenths of a second for each.
		var both errgroup.Group
		both.Go(func() (err error) {
			res, err = b.client.Info(asking, client.InfoOptions{})
			return err
		})
		both.Go(func() (err error) {
			version, err = b.client.ServerVersion(asking, client.ServerVersionOptions{})
			return err
		})
		err = both.Wait()
	}
	if ended := over(ctx); ended != nil { // it is the caller who ended this, not the engine
		return nil, ended
	}
	switch {
	case err != nil && asking.Err() != nil:
		return nil, &EngineError{Host: b.opt.Host, Err: errNoAnswer}
	case err != nil:
		return nil, b.asked(err)
	}
	podman := slices.ContainsFunc(version.Components, func(c system.ComponentVersion) bool { return c.Name == "Podman Engine" })
	if podman {
		if err := b.correctPodman(asking, &res.Info); err != nil {
			return nil, b.asked(err)
		}
	}
	e, refused := judge(res.Info, b.opt.Runtime)
	if refused != nil {
		refused.Host = b.opt.Host
		return nil, refused
	}
	e.podman = podman
	if why := b.whyApart(asking, res.Info); why != "" {
		e.setApart(why)
	}
	if err := b.check(e); err != nil {
		return nil, err
	}
	if b.plainTCP() {
		e.missing = append(e.missing, "encryption: the engine is reached without TLS; whoever is on the way can read and change a run")
	}
	return e, nil
}

// check refuses an engine that can do what is asked of it, but not from where it is.
func (b *Backend) check(e *engine) error {
	if err := b.checkApart(e); err != nil {
		return err
	}
	return b.checkWatched(e)
}

// judge refuses engines that cannot hold the limits, or do not know the OCI runtime.
func judge(info system.Info, runtime string) (*engine, *EngineError) {
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
		e.missing = append(e.missing, "cgroup: a rootless engine has none here; memory, processes and processor time are held by a watchdog")
	case !info.MemoryLimit:
		return refuse("enable the memory cgroup", "it does not limit memory")
	case !info.PidsLimit:
		return refuse("enable the pids cgroup", "it does not limit processes")
	}
	if _, known := info.Runtimes[runtime]; runtime != "" && !known {
		return refuse(fmt.Sprintf("add %q to \"runtimes\" in the engine's daemon.json, with \"--network=none\" among its \"runtimeArgs\", and restart it", runtime), "it has no OCI runtime %q", runtime)
	}
	if !info.CPUCfsQuota {
		e.missing = append(e.missing, "cpu quota: the engine has none; a run can use every processor")
	}
	if !info.SwapLimit && !e.watched {
		e.missing = append(e.missing, "swap limit: the engine has none; a run can use its memory limit again in swap")
	}
	if e.remapped {
		e.missing = append(e.missing, "user namespace: the engine's own mapping is off for runs, which have to write to the workspace")
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

// gone tells whether an answer means that the thing asked about does not exist.
func gone(err error) bool { return errdefs.IsNotFound(err) }
