package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/meter"
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
	if e.remote != "" {
		return b.startRemote(ctx, spec, e, img)
	}
	if err := b.prepareFolders(spec, e); err != nil {
		return nil, err
	}
	dir, err := b.newRunDir(spec, e.seccomp())
	if err != nil {
		return nil, err
	}
	p := newProcess(b, dir, spec.Secret)
	p.watched = e.watched
	lim := spec.Limits.WithDefaults()
	disk := meter.NewDisk(spec.Workspace, lim)
	if err := p.launch(ctx, b.createOptions(ctx, spec, e, img, dir)); err != nil {
		disk.Stop()
		err = errors.Join(err, p.undo(ctx))
		if isFolderUnseen(err) && ctx.Err() == nil {
			if err := b.prepareFolders(spec, e); err != nil { // one has been removed in the meantime
				return nil, err
			}
			return b.startRemote(ctx, spec, b.setRemote("it does not see this machine's folders"), img)
		}
		return nil, err
	}
	if _, err := p.find(p.watching); err != nil && !p.endsSoon() {
		disk.Stop()
		err = errors.Join(fmt.Errorf("watch over container %s: %w", p.id, err), p.discard())
		if _, silent := errors.AsType[*EngineError](err); silent || e.podman || e.watched || ctx.Err() != nil {
			return nil, err
		}
		return b.startRemote(ctx, spec, b.setRemote("its containers' processes are not seen from here"), img)
	}
	p.connect(ctx, spec, disk)
	return p, nil
}

// launch creates and starts the container. The socket exists before the guest connects, and output and end are waited for before
// there can be any. ctx does not cancel requests that create something, because the engine may carry them out anyway; it is
// checked in between.
func (p *process) launch(ctx context.Context, create client.ContainerCreateOptions) error {
	b := p.backend
	var err error
	if p.dir.path != "" {
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
	p.began = time.Now()
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

// discard kills a container that was launched and has no run.
func (p *process) discard() error {
	p.Kill()
	<-p.gone
	return errors.Join(p.err, p.release())
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
		return b.createError(err)
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
		return fmt.Errorf("attach to container %s: %w", p.id, b.connectError(err))
	}
	return nil
}

// createError explains errors that a person can fix.
func (b *Backend) createError(err error) error {
	if strings.Contains(err.Error(), noSource) {
		return &EngineError{Host: b.opt.Host, Err: err,
			hint: "the engine does not see the same folders as mcprun does (is it a snap, or in a container?): move the workspace and the folder for running sandboxes to where it sees them"}
	}
	return fmt.Errorf("create a container: %w", b.engineError(err))
}

// startError explains errors that a person can fix.
func (b *Backend) startError(id string, err error) error {
	if strings.Contains(err.Error(), "error setting rlimit") {
		return &EngineError{Host: b.opt.Host, Err: err,
			hint: "a limit is above what the engine may set itself: ask for fewer --open-files, or raise the engine's own limit (LimitNOFILE of its service)"}
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
		errs = append(errs, p.backend.removeContainer(ctx, p.dir.container))
	}
	if p.listener != nil {
		p.listener.Close()
	}
	return errors.Join(append(errs, p.dir.remove())...)
}
