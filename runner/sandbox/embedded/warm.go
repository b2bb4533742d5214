package embedded

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

var _ sandbox.Warmer = (*Backend)(nil)

// Shape returns the runtime alone: folders and limits are set when a run adopts the guest.
func (*Backend) Shape(spec sandbox.Spec) sandbox.Shape { return sandbox.Shape{Runtime: spec.Runtime} }

// Warm starts a guest that loads its engine and waits for a run.
func (b *Backend) Warm(ctx context.Context, spec sandbox.Spec) (sandbox.Idle, error) {
	p, err := b.start(ctx, spec, true)
	if err != nil {
		return nil, err
	}
	return &idle{process: p}, nil
}

// idle is a guest without a run.
type idle struct{ *process }

// Done is closed when the guest has ended.
func (i *idle) Done() <-chan struct{} { return i.child.Done() }

// Close kills the guest.
func (i *idle) Close() error {
	i.process.Kill()
	_, err := i.process.Wait()
	return err
}

// Adopt attaches the guest to a run.
func (i *idle) Adopt(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	p := i.process
	spec.Limits = spec.Limits.WithDefaults()
	bound, err := p.bind(ctx, spec)
	if err == nil {
		p.ctx = ctx
		err = writeFrames(p.conn, bound)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, errors.Join(fmt.Errorf("attach the engine's process to its run: %w", err), i.Close())
	}
	return p, nil
}
