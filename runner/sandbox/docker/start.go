package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/layout"
)

const (
	// createTime and startTime are how long a busy engine may take.
	createTime = 30 * time.Second
	startTime  = 60 * time.Second
	removeTime = 30 * time.Second
	// endTime is how long an engine may take to report the end of a container.
	endTime = 5 * time.Second
)

// prepare checks the request and finds what every container needs.
func (b *Backend) prepare(ctx context.Context, spec sandbox.Spec) (*engine, image, error) {
	if err := spec.Check(); err != nil {
		return nil, image{}, err
	}
	if sandbox.GuestMain(spec.Runtime) == "" {
		return nil, image{}, fmt.Errorf("sandbox %s does not run %q", b.opt.Name, spec.Runtime)
	}
	e, err := b.facts(ctx)
	if err != nil {
		return nil, image{}, err
	}
	img, err := b.image(ctx, e.arch)
	if err != nil {
		return nil, image{}, err
	}
	return e, img, b.guard()
}

// Start creates a container and starts the guest in it.
func (b *Backend) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	if err := spec.Turn.Await(ctx); err != nil {
		return nil, err
	}
	e, img, err := b.prepare(ctx, spec)
	if err != nil {
		return nil, err
	}
	if e.remote == "" {
		p, err := b.startLocal(ctx, spec, e, img)
		if !errors.As(err, new(*unsharedError)) {
			return p, err
		}
		if e, err = b.facts(ctx); err != nil {
			return nil, err
		}
	}
	return b.startRemote(ctx, spec, e, img)
}

func (b *Backend) startLocal(ctx context.Context, spec sandbox.Spec, e *engine, img image) (sandbox.Process, error) {
	if err := b.prepareFolders(spec, e); err != nil {
		return nil, err
	}
	p, err := b.launchLocal(ctx, spec, e, img, nil)
	if err != nil {
		return nil, err
	}
	p.connect(ctx, spec)
	return p, nil
}

// prepareFolders makes sure that the guest will find its workspace writable and its tree readable.
func (b *Backend) prepareFolders(spec sandbox.Spec, e *engine) error {
	var user *layout.User
	if !e.rootless && b.uid != os.Geteuid() {
		user = &layout.User{UID: b.uid, Groups: []int{b.gid}}
	}
	return layout.Prepare(spec, user)
}

// unsharedError reports that an engine turned out to be remote: it does not see this machine's folders, or this machine does not
// see its processes.
type unsharedError struct{ err error }

func (e *unsharedError) Error() string { return e.err.Error() }
func (e *unsharedError) Unwrap() error { return e.err }

// launchLocal starts a container on this machine, whose guest waits for its run. Change, if not nil, changes its configuration. If
// the engine turns out to be remote, it counts as such from then on, and the error is an *unsharedError.
func (b *Backend) launchLocal(ctx context.Context, spec sandbox.Spec, e *engine, img image, change func(*container.HostConfig, *runDir)) (*process, error) {
	dir, err := b.newRunDir(spec, e)
	if err != nil {
		return nil, err
	}
	create := b.localOptions(ctx, spec, e, img, dir)
	if change != nil {
		change(create.HostConfig, dir)
	}
	p := newProcess(b, dir.container, spec.Secret)
	p.dir, p.watched = dir, e.watched
	if err := p.launch(ctx, create); err != nil {
		err = errors.Join(err, p.undo(ctx))
		if isFolderUnseen(err) && ctx.Err() == nil && b.prepareFolders(spec, e) == nil { // otherwise one was removed in the meantime
			b.setRemote("it does not see this machine's folders")
			return nil, &unsharedError{err}
		}
		return nil, err
	}
	if err := p.find(p.watching); err != nil && !p.endsSoon() {
		err = errors.Join(fmt.Errorf("watch over container %s: %w", p.id, err), p.discard())
		if _, silent := errors.AsType[*EngineError](err); silent || e.podman || e.watched || ctx.Err() != nil {
			return nil, err
		}
		b.setRemote("its containers' processes are not visible from here")
		return nil, &unsharedError{err}
	}
	return p, nil
}

// launch creates and starts the container. The socket exists before the guest connects, and output and end are waited for before
// there can be any. ctx does not cancel requests that create something, because the engine may carry them out anyway; it is
// checked in between.
func (p *process) launch(ctx context.Context, create client.ContainerCreateOptions) error {
	b := p.backend
	var err error
	if p.dir != nil {
		if p.listener, err = p.dir.listen(); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := p.make(ctx, create); err != nil {
		return err
	}
	p.oom = b.client.Events(p.watching, client.EventsListOptions{
		Filters: make(client.Filters).Add("type", "container").Add("container", p.id).Add("event", "oom"),
	})
	if !p.keeps {
		p.removed = b.client.ContainerWait(p.watching, p.id, client.ContainerWaitOptions{Condition: container.WaitConditionRemoved})
	}
	if p.ready != nil {
		if err := p.ready(); err != nil {
			return err
		}
	}
	startCtx, cancelStart := context.WithTimeout(detach(ctx), startTime)
	defer cancelStart()
	if _, err := b.client.ContainerStart(startCtx, p.id, client.ContainerStartOptions{}); err != nil {
		return b.startError(p.id, err)
	}
	if p.keeps {
		p.removed = b.client.ContainerWait(p.watching, p.id, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	}
	p.begin()
	return nil
}

// endsSoon reports whether a container that was not found has ended by itself, which its engine may not have reported yet.
func (p *process) endsSoon() bool {
	select {
	case <-p.over:
		return true
	case <-time.After(endTime):
		return false
	}
}

// make creates the container and attaches to it.
func (p *process) make(ctx context.Context, create client.ContainerCreateOptions) error {
	b := p.backend
	keeps := !create.HostConfig.AutoRemove // Podman
	if keeps {
		if err := b.creating.Acquire(ctx, 1); err != nil {
			return err
		}
		defer b.creating.Release(1)
	}
	createCtx, cancel := context.WithTimeout(detach(ctx), createTime)
	defer cancel()
	p.created = true // even if the request fails, there may be one
	made, err := b.client.ContainerCreate(createCtx, create)
	if err != nil {
		return fmt.Errorf("create a container: %w", b.engineError(err))
	}
	p.id, p.keeps = made.ID, keeps
	for _, w := range made.Warnings {
		b.log.Warn("the engine warns about the container", "warning", w)
	}
	if err := ctx.Err(); err != nil {
		return err
	}

	// These end with the process; stopWatching ends them earlier.
	p.watching, p.stopWatching = context.WithCancel(detach(ctx))
	late := time.AfterFunc(startTime, p.stopWatching)
	p.attached, err = b.client.ContainerAttach(p.watching, p.id, client.ContainerAttachOptions{
		Stream: true, Stdin: create.Config.OpenStdin, Stdout: true, Stderr: true,
	})
	switch inTime := late.Stop(); {
	case !inTime:
		return fmt.Errorf("attach to container %s: %w", p.id, &EngineError{Host: b.opt.Host, Err: errNoAnswer})
	case err != nil:
		return fmt.Errorf("attach to container %s: %w", p.id, b.engineError(err))
	}
	return nil
}

// startError explains errors that a person can fix.
func (b *Backend) startError(id string, err error) error {
	if strings.Contains(err.Error(), "error setting rlimit") {
		return &EngineError{Host: b.opt.Host, Err: err,
			hint: "a limit is higher than the engine may set: lower --open-files, or raise the engine's own limit (LimitNOFILE of its service)"}
	}
	return fmt.Errorf("start container %s: %w", id, b.engineError(err))
}

// undo removes what a failed start has created.
func (p *process) undo(ctx context.Context) error {
	var errs []error
	if p.attached.Conn != nil {
		p.attached.Close()
	}
	p.cancelRequests()
	if p.created {
		// By its name: the engine may have created it without returning its ID.
		errs = append(errs, p.backend.removeContainer(ctx, p.name))
	}
	if p.listener != nil {
		p.listener.Close()
	}
	if p.dir != nil {
		errs = append(errs, p.dir.Remove())
	}
	return errors.Join(errs...)
}
