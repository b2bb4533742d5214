package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// launch creates and starts the container. The socket exists before the guest connects, and the streams for output and end are
// open before there can be any. ctx does not cancel requests that create something, because the engine may carry them out
// anyway; it is checked in between.
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

// begin starts the goroutines that every container has.
func (p *process) begin() {
	if p.listener != nil {
		go p.accept()
	}
	go func() {
		defer close(p.gone)
		defer p.setOver()
		p.awaitEnd()
		if p.listener != nil {
			p.listener.Close() // nothing connects any more
		}
	}()
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
