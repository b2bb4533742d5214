package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/gen/owner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

const (
	// createTime and startTime are how long a loaded engine may take; a dead one is found before.
	createTime = 30 * time.Second
	startTime  = 60 * time.Second
	removeTime = 30 * time.Second
)

// Start creates a container and starts the guest in it.
func (b *Backend) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	if err := checkSpec(spec); err != nil {
		return nil, err
	}
	e, err := b.facts(ctx)
	if err != nil {
		return nil, err
	}
	img, err := b.image(ctx)
	if err != nil {
		return nil, err
	}
	if err := b.prepareFolders(spec, e); err != nil {
		return nil, err
	}
	me, err := owner.Self()
	if err != nil {
		return nil, err
	}
	dir, err := b.newRunDir(spec, me.String())
	if err != nil {
		return nil, err
	}
	p := &process{backend: b, dir: dir, secret: spec.Secret, kill: make(chan struct{}), done: make(chan struct{})}
	if err := p.start(ctx, spec, b.created(ctx, spec, e, img, dir, me.String())); err != nil {
		return nil, errors.Join(err, p.undo(ctx))
	}
	return p, nil
}

func checkSpec(spec sandbox.Spec) error {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-"
	if spec.ID == "" || len(spec.ID) > 64 || strings.Trim(spec.ID, letters) != "" {
		return fmt.Errorf("run ID %q: not 1 to 64 letters, digits and '-'", spec.ID)
	}
	main := sandbox.GuestMain(spec.Runtime)
	if main == "" {
		return fmt.Errorf("sandbox docker does not run %q", spec.Runtime)
	}
	if _, ok := spec.Guest[main]; !ok {
		return fmt.Errorf("run %s: no guest program %s", spec.ID, main)
	}
	return nil
}

// start does everything in the order that loses nothing: the socket is there before the guest asks for it, output is
// attached and the end is waited for before there can be any. Requests that make something are not cut short by ctx,
// because the engine may carry them out all the same; ctx is asked in between.
func (p *process) start(ctx context.Context, spec sandbox.Spec, create client.ContainerCreateOptions) error {
	b := p.backend
	var err error
	if p.listener, err = p.dir.listen(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	createCtx, cancel := context.WithTimeout(detach(ctx), createTime)
	defer cancel()
	p.created = true // from here on there may be one, whatever the engine answers
	made, err := b.client.ContainerCreate(createCtx, create)
	if err != nil {
		return b.createError(err)
	}
	p.id = made.ID
	for _, w := range made.Warnings {
		b.log.Warn("the engine warns about the container", "warning", w)
	}
	if err := ctx.Err(); err != nil {
		return err
	}

	// These end with the process; stopWatching ends them earlier.
	watch, stop := context.WithCancel(detach(ctx))
	p.stopWatching = stop
	if p.attached, err = b.client.ContainerAttach(watch, p.id, client.ContainerAttachOptions{
		Stream: true, Stdin: spec.Stdin != nil, Stdout: true, Stderr: true,
	}); err != nil {
		return fmt.Errorf("attach to container %s: %w", p.id, b.asked(err))
	}
	p.oom = b.client.Events(watch, client.EventsListOptions{
		Filters: make(client.Filters).Add("type", "container").Add("container", p.id).Add("event", "oom"),
	})
	p.removed = b.client.ContainerWait(watch, p.id, client.ContainerWaitOptions{Condition: container.WaitConditionRemoved})

	startCtx, cancelStart := context.WithTimeout(detach(ctx), startTime)
	defer cancelStart()
	p.began = time.Now()
	if _, err := b.client.ContainerStart(startCtx, p.id, client.ContainerStartOptions{}); err != nil {
		return fmt.Errorf("start container %s: %w", p.id, b.asked(err))
	}
	p.run(ctx, spec)
	return nil
}

// createError explains what a person can do something about.
func (b *Backend) createError(err error) error {
	if strings.Contains(err.Error(), "bind source path does not exist") {
		return &EngineError{Host: b.opt.Host, Err: err,
			hint: "the engine does not see the same folders as mcprun does (is it a snap, or in a container?): move the workspace and the folder for running sandboxes to where it sees them"}
	}
	return fmt.Errorf("create a container: %w", b.asked(err))
}

// undo removes whatever start had made when it failed.
func (p *process) undo(ctx context.Context) error {
	var errs []error
	if p.attached.Conn != nil {
		p.attached.Close()
	}
	p.forget()
	if p.created {
		// By its name: the engine may have made it without telling us its ID.
		errs = append(errs, p.backend.removeContainer(ctx, p.dir.container))
	}
	if p.listener != nil {
		p.listener.Close()
	}
	return errors.Join(append(errs, p.dir.remove())...)
}
