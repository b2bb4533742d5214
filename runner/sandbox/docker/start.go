package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/layout"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/stdio"
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

// launchLocal starts a container on this machine, whose guest waits for its run. If change is not nil, it changes the container's
// configuration. If the engine turns out to be remote, it is treated as remote from then on, and the error is an *unsharedError.
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
		if isFolderUnseen(err) && ctx.Err() == nil && b.prepareFolders(spec, e) == nil { // otherwise a folder was removed in the meantime
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

// connect gives the container its run: streams, limits and workspace. All of its goroutines end before done is closed, except one
// that may wait for the caller's Stdin.
func (p *process) connect(ctx context.Context, spec sandbox.Spec) {
	if spec.Stdin != nil {
		go func() {
			io.Copy(p.attached.Conn, spec.Stdin) // ends when either side closes; a guest need not read its input
			p.attached.CloseWrite()
		}()
	}
	// The engine discards output that was not fetched within two seconds after a container's end. So it is fetched at once,
	// however slow the caller's writers are. The run's limit of output bounds what is kept.
	var printing sync.WaitGroup
	outBuffer, errBuffer := stdio.NewBuffer(), stdio.NewBuffer()
	printing.Go(func() { outBuffer.CopyTo(spec.Stdout, nil) })
	printing.Go(func() { errBuffer.CopyTo(spec.Stderr, nil) })
	buffered := spec
	buffered.Stdout, buffered.Stderr = outBuffer, errBuffer
	stdout, stderr := p.Begin(ctx, buffered, p.openers())
	fetched := make(chan error, 1)
	go func() {
		_, err := stdcopy.StdCopy(stdout, stderr, p.attached.Reader)
		outBuffer.End()
		errBuffer.End()
		fetched <- err
	}()
	p.watchers.Go(func() { p.watch(spec) })
	go func() {
		defer close(p.done)
		<-p.gone
		p.drain(fetched)
		p.nameLimits(spec.Limits, "")
		printing.Wait()
		p.err = errors.Join(p.err, p.release())
	}()
}

// openers returns a function that lists the processes that may hold files of the workspace open, or nil if they are not known.
func (p *process) openers() func() []int {
	if in := p.view.Load(); in != nil {
		return in.PIDs
	}
	return nil
}
