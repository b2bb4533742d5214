package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/moby/moby/api/types/container"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/meter"
)

// commonFiles is how many descriptors a guest has that was started for runs of any shape.
const commonFiles = 1024

var _ sandbox.Warmer = (*Backend)(nil)

// Shape leaves out the folders and most limits where this process can set them in a running container: where it is root
// on the engine's machine. Node's heap is sized when it starts, so its guests keep their memory limit.
func (b *Backend) Shape(spec sandbox.Spec) sandbox.Shape {
	if e, err := b.facts(context.Background()); err == nil && e.remote != "" {
		return remoteShape(spec)
	}
	lim := spec.Limits.WithDefaults()
	shape := sandbox.Shape{Runtime: spec.Runtime}
	if b.canEnter(context.Background()) {
		if spec.Runtime == sandbox.Node {
			shape.Limits.Memory = lim.Memory
		}
		if lim.Files > commonFiles {
			shape.Limits.Files = lim.Files // only less can be set later
		}
		return shape
	}
	shape.Tree, shape.Skills, shape.Workspace = spec.Tree, spec.Skills, spec.Workspace
	// The others are watched from outside, from the beginning of the run.
	shape.Limits = sandbox.Limits{Memory: lim.Memory, Processes: lim.Processes, Files: lim.Files, FileSize: fileSize(lim), Tmp: lim.Tmp}
	return shape
}

// canEnter reports whether this process can enter the namespaces of this engine's running containers. This is tried once, and is
// false after the first Warm that fails to enter one.
func (b *Backend) canEnter(ctx context.Context) bool {
	e, err := b.facts(ctx)
	if err != nil || e.remote != "" || e.rootless || e.remapped {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.enterTried {
		b.enterTried = true
		b.enterErr = mountsAvailable()
	}
	return b.enterErr == nil
}

func (b *Backend) setEnterError(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.enterErr = err
}

// Warm starts a container whose guest waits for its job.
func (b *Backend) Warm(ctx context.Context, spec sandbox.Spec) (sandbox.Idle, error) {
	if err := spec.Turn.Await(ctx); err != nil {
		return nil, err
	}
	e, img, err := b.prepare(ctx, spec)
	if err != nil {
		return nil, err
	}
	if e.remote != "" {
		return b.warmRemote(ctx, spec, e, img)
	}
	w := &idle{shape: b.Shape(spec), enter: b.canEnter(ctx), engine: e}
	if w.enter {
		spec.Workspace, spec.Tree, spec.Skills = "", "", ""
	} else if err := b.prepareFolders(spec, e); err != nil {
		return nil, err
	}
	dir, err := b.newRunDir(spec, e.seccomp())
	if err != nil {
		return nil, err
	}
	spec.Limits.CPU, spec.Stdin = 0, noStdin{}
	create := b.createOptions(detach(ctx), spec, e, img, dir)
	if w.enter {
		dir.mountEmpty(create.HostConfig)
		create.HostConfig.Ulimits = slices.DeleteFunc(create.HostConfig.Ulimits, func(l *container.Ulimit) bool { return l.Name == "fsize" || l.Name == "nofile" })
		create.HostConfig.Ulimits = append(create.HostConfig.Ulimits, limit("nofile", max(commonFiles, int64(w.shape.Limits.Files))))
	}
	p := newProcess(b, dir, spec.Secret)
	w.process, p.watched = p, e.watched
	if err := p.launch(ctx, create); err != nil {
		return nil, errors.Join(err, p.undo(ctx))
	}
	w.stopKill = context.AfterFunc(ctx, p.Kill)
	in, err := p.find(p.watching)
	if err == nil && w.enter {
		err = in.checkLimits(spec.Limits.WithDefaults(), b.uid, b.gid)
	}
	if err != nil && ctx.Err() == nil && !p.endsSoon() {
		err = fmt.Errorf("watch over container %s: %w", p.id, err)
		if _, engineFailed := errors.AsType[*EngineError](err); w.enter && !engineFailed {
			err = fmt.Errorf("containers cannot be entered: %w", err)
			b.setEnterError(err)
		}
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// idle is a container that waits to be adopted.
type idle struct {
	*process
	shape    sandbox.Shape
	engine   *engine
	enter    bool // folders and limits are set when it is adopted
	stopKill func() bool
}

// Done is closed when the guest has ended.
func (w *idle) Done() <-chan struct{} { return w.over }

// Close ends the guest.
func (w *idle) Close() error {
	w.stopKill()
	return w.discard()
}

// Adopt makes the container that of a run.
func (w *idle) Adopt(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	p := w.process
	if err := w.prepareRun(ctx, spec); err != nil {
		return nil, errors.Join(fmt.Errorf("adopt container %s: %w", p.id, err), w.Close())
	}
	p.began = time.Now()
	disk := meter.NewDisk(spec.Workspace, spec.Limits)
	if spec.Stdin == nil {
		p.attached.CloseWrite()
	}
	p.connect(ctx, spec, disk)
	return p, nil
}

// prepareRun sets the run's folders and limits in the container.
func (w *idle) prepareRun(ctx context.Context, spec sandbox.Spec) error {
	b := w.backend
	if !w.stopKill() {
		return errors.New("it was killed")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if got := b.Shape(spec); got != w.shape {
		return fmt.Errorf("its shape is %+v, want %+v", w.shape, got)
	}
	if w.hasEnded() {
		return errors.New("the guest has ended")
	}
	in := w.usage.kernel()
	if w.enter {
		if err := b.prepareFolders(spec, w.engine); err != nil {
			return err
		}
		lim := spec.Limits.WithDefaults()
		placed := make(chan error, 1)
		go func() { placed <- in.mountFolders(spec, lim) }() // concurrently: each takes a third of a millisecond
		err := in.limit(lim, cpuSeconds(ctx, lim), b.uid, b.gid)
		if err := errors.Join(err, <-placed); err != nil {
			return err
		}
	}
	if in != nil {
		w.usage.rebase(in)
	}
	return nil
}

// Bridge returns the process's bridge.
func (w *idle) Bridge(ctx context.Context) (net.Conn, error) { return w.process.Bridge(ctx) }

func (p *process) hasEnded() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}

// noStdin is the placeholder for a standard input that Adopt sets.
type noStdin struct{}

func (noStdin) Read([]byte) (int, error) { return 0, errors.New("no standard input yet") }
