package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/moby/moby/api/types/container"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/kernelview"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/supervise"
)

// commonFiles is the number of file descriptors of a guest that was started for runs of any shape.
const commonFiles = 1024

var _ sandbox.Warmer = (*Backend)(nil)

// Shape leaves out the folders and most limits if this process can set them in a running container, that is, if it is
// root on the engine's machine. Node's heap is sized when it starts, so guests that run Node keep their memory limit.
func (b *Backend) Shape(spec sandbox.Spec) sandbox.Shape {
	if e, err := b.facts(context.Background()); err == nil && e.remote != "" {
		return remoteShape(spec)
	}
	lim := spec.Limits.WithDefaults()
	shape := sandbox.Shape{Runtime: spec.Runtime}.WithPackages(spec)
	if b.canEnter(context.Background()) {
		if spec.Runtime == sandbox.Node {
			shape.Limits.Memory = lim.Memory
		}
		if lim.Files > commonFiles {
			shape.Limits.Files = lim.Files // the limit can only be lowered later
		}
		return shape
	}
	shape.Tree, shape.Skills, shape.Workspace = spec.Tree, spec.Skills, spec.Workspace
	// The other limits are enforced from outside, from the beginning of the run.
	shape.Limits = sandbox.Limits{Memory: lim.Memory, Processes: lim.Processes, Files: lim.Files, FileSize: lim.LargestFile(), Tmp: lim.Tmp}
	return shape
}

// canEnter reports whether this process can enter the namespaces of this engine's running containers.
func (b *Backend) canEnter(ctx context.Context) bool {
	e, err := b.facts(ctx)
	return err == nil && e.remote == "" && !e.rootless && !e.remapped && kernelview.MountsAvailable() == nil
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
	spec.Limits.CPU, spec.Stdin = 0, noStdin{}
	var change func(*container.HostConfig, *runDir)
	if w.enter {
		spec.Workspace, spec.Tree, spec.Skills = "", "", ""
		change = func(h *container.HostConfig, dir *runDir) {
			dir.mountEmpty(h)
			h.Resources.Ulimits = slices.DeleteFunc(h.Resources.Ulimits, func(l *container.Ulimit) bool { return l.Name == "fsize" || l.Name == "nofile" })
			h.Resources.Ulimits = append(h.Resources.Ulimits, limit("nofile", max(commonFiles, int64(w.shape.Limits.Files))))
		}
	} else if err := b.prepareFolders(spec, e); err != nil {
		return nil, err
	}
	if w.process, err = b.launchLocal(detach(ctx), spec, e, img, change); err != nil {
		return nil, err
	}
	w.stopKill = context.AfterFunc(ctx, w.Kill)
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

// Adopt assigns the container to a run.
func (w *idle) Adopt(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	if err := w.prepareRun(ctx, spec); err != nil {
		return nil, errors.Join(fmt.Errorf("adopt container %s: %w", w.id, err), w.Close())
	}
	if spec.Stdin == nil {
		w.attached.CloseWrite()
	}
	w.connect(ctx, spec)
	return w.process, nil
}

// prepareRun sets the run's folders and limits in the container.
func (w *idle) prepareRun(ctx context.Context, spec sandbox.Spec) error {
	b := w.backend
	if !w.stopKill() {
		return errors.New("it was killed")
	}
	if err := supervise.CheckAdopt(ctx, w.over, w.shape, b.Shape(spec)); err != nil {
		return err
	}
	in := w.view.Load()
	if w.enter {
		if err := b.prepareFolders(spec, w.engine); err != nil {
			return err
		}
		lim := spec.Limits.WithDefaults()
		placed := make(chan error, 1)
		go func() { placed <- in.MountFolders(spec, lim) }() // run concurrently because each takes a third of a millisecond
		err := in.Limit(lim, cpuSeconds(ctx, lim), b.uid, b.gid)
		if err := errors.Join(err, <-placed); err != nil {
			return err
		}
	}
	if in != nil {
		in.Rebase()
	}
	return nil
}

// Bridge returns the process's bridge.
func (w *idle) Bridge(ctx context.Context) (net.Conn, error) { return w.process.Bridge(ctx) }
