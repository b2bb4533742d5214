//go:build !linux

package gvisor

import (
	"context"
	"errors"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Init does nothing on this system.
func Init() {}

// direct starts guests with runsc itself, on Linux only.
type direct struct{}

func (b *Backend) direct(context.Context, sandbox.Runtime) (*direct, error) {
	return nil, &UnavailableError{Err: errors.New("gVisor runs on Linux only"), hint: "use --sandbox docker, or a machine with Linux"}
}

func (*direct) start(context.Context, sandbox.Spec) (sandbox.Process, error) {
	return nil, errors.ErrUnsupported
}

func (*direct) warm(context.Context, sandbox.Spec) (sandbox.Idle, error) {
	return nil, errors.ErrUnsupported
}

func (*direct) shape(spec sandbox.Spec) sandbox.Shape { return completeShape(spec) }

// Probe implements sandbox.Backend.
func (b *Backend) Probe(ctx context.Context) sandbox.Status {
	_, err := b.direct(ctx, sandbox.Node)
	return b.probeEngine(ctx, err)
}
