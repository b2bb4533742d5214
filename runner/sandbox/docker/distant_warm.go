package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// shapeApart is Shape on an engine that is apart: a workspace is taken there when a guest is adopted, volumes cannot be
// added to a container that runs, and of the limits only those that the host and the relay count can change.
func shapeApart(spec sandbox.Spec) sandbox.Shape {
	lim := spec.Limits.WithDefaults()
	lim.CPU, lim.Output = 0, 0
	return sandbox.Shape{Runtime: spec.Runtime, Tree: spec.Tree, Skills: spec.Skills, Limits: lim}
}

// warmApart is Warm on an engine that is apart.
func (b *Backend) warmApart(ctx context.Context, spec sandbox.Spec, e *engine, img image) (sandbox.Idle, error) {
	w := &idleApart{shape: shapeApart(spec)}
	spec.Workspace, spec.Limits.CPU = "", 0
	c, err := newCargo(spec)
	if err != nil {
		return nil, err
	}
	if w.distant, err = b.launchApart(detach(ctx), spec, e, img, c); err != nil {
		return nil, err
	}
	w.stopKill = context.AfterFunc(ctx, w.Kill)
	return w, nil
}

// idleApart is a container on an engine that is apart and waits to be adopted.
type idleApart struct {
	*distant
	shape    sandbox.Shape
	stopKill func() bool
}

// Done is closed when the guest has ended.
func (w *idleApart) Done() <-chan struct{} { return w.over.c }

// Close ends the guest.
func (w *idleApart) Close() error {
	w.stopKill()
	return w.abandon()
}

// Adopt makes the container that of a run.
func (w *idleApart) Adopt(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	c, err := w.fit(ctx, spec)
	if err == nil {
		w.began = time.Now()
		err = w.connect(ctx, spec, c)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("adopt container %s: %w", w.id, err), w.Close())
	}
	return w.distant, nil
}

// fit looks at the run's workspace and makes room for it in the container's memory.
func (w *idleApart) fit(ctx context.Context, spec sandbox.Spec) (*cargo, error) {
	if !w.stopKill() {
		return nil, errors.New("it was given up")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if got := shapeApart(spec); got != w.shape {
		return nil, fmt.Errorf("it is of another shape: %+v, and %+v is wanted", w.shape, got)
	}
	if w.isOver() {
		return nil, errors.New("the guest has ended")
	}
	c, err := newCargo(spec)
	if err != nil || c.memory() == 0 {
		return c, err
	}
	memory := w.shape.Limits.Memory + relayMemory + c.memory()
	err = w.backend.patiently(ctx, "make room for the workspace", func(ctx context.Context) error {
		_, err := w.backend.client.ContainerUpdate(ctx, w.id, client.ContainerUpdateOptions{
			Resources: &container.Resources{Memory: memory, MemorySwap: memory},
		})
		return err
	})
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

var _ sandbox.Idle = (*idleApart)(nil)
