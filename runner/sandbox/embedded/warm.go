package embedded

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

var _ sandbox.Warmer = (*Backend)(nil)

// Shape is the runtime alone: what a run sees and may use is settled when it gets its guest.
func (*Backend) Shape(spec sandbox.Spec) sandbox.Shape { return sandbox.Shape{Runtime: spec.Runtime} }

// Warm starts a guest whose engine is up and waits.
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

// Adopt makes the guest that of a run.
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
		return nil, errors.Join(fmt.Errorf("give the engine's process its run: %w", err), i.Close())
	}
	return p, nil
}
