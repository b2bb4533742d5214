package docker

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/remote"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/supervise"
)

// remoteShape is Shape on a remote engine: the workspace is copied when a guest is adopted, other folders cannot be added to a
// running container, and only limits that the host and the relay enforce can change.
func remoteShape(spec sandbox.Spec) sandbox.Shape {
	lim := spec.Limits.WithDefaults()
	lim.CPU, lim.Output = 0, 0
	return sandbox.Shape{Runtime: spec.Runtime, Tree: spec.Tree, Skills: spec.Skills, Limits: lim}.WithPackages(spec)
}

// warmRemote is Warm on a remote engine.
func (b *Backend) warmRemote(ctx context.Context, spec sandbox.Spec, e *engine, img image) (sandbox.Idle, error) {
	w := &remoteIdle{shape: remoteShape(spec)}
	spec.Workspace, spec.Limits.CPU = "", 0
	if _, err := remote.OpenRun(spec); err != nil { // this checks the folders
		return nil, err
	}
	var err error
	if w.remoteProcess, err = b.launchRemote(detach(ctx), spec, e, img); err != nil {
		return nil, err
	}
	w.stopKill = context.AfterFunc(ctx, w.Kill)
	return w, nil
}

// remoteIdle is a container on a remote engine that waits to be adopted.
type remoteIdle struct {
	*remoteProcess
	shape    sandbox.Shape
	stopKill func() bool
}

var _ sandbox.Idle = (*remoteIdle)(nil)

// Bridge returns the guest's connection, which needs no workspace yet.
func (w *remoteIdle) Bridge(ctx context.Context) (net.Conn, error) { return w.guest.Bridge(ctx) }

// Done is closed when the guest has ended.
func (w *remoteIdle) Done() <-chan struct{} { return w.over }

// Close ends the guest.
func (w *remoteIdle) Close() error {
	w.stopKill()
	return w.abandon()
}

// Adopt gives the container to a run.
func (w *remoteIdle) Adopt(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	if err := w.adopt(ctx, spec); err != nil {
		return nil, errors.Join(fmt.Errorf("adopt container %s: %w", w.id, err), w.Close())
	}
	// The caller already has the guest's connection, and sends the job when this returns.
	select {
	case <-w.guest.Copied():
	case <-w.gone:
	}
	return w.remoteProcess, nil
}

func (w *remoteIdle) adopt(ctx context.Context, spec sandbox.Spec) error {
	if !w.stopKill() {
		return errors.New("it was killed")
	}
	if err := supervise.CheckAdopt(ctx, w.over, w.shape, remoteShape(spec)); err != nil {
		return err
	}
	workspace, err := remote.OpenRun(spec)
	if err != nil {
		return err
	}
	return w.connect(ctx, spec, workspace)
}
