//go:build !linux

package gvisor

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Init does nothing on this system.
func Init() {}

// direct is the way by runsc itself, which exists on Linux only.
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

func (*direct) shape(spec sandbox.Spec) sandbox.Shape { return whole(spec) }

// Probe implements sandbox.Backend.
func (b *Backend) Probe(ctx context.Context) sandbox.Status {
	_, err := b.direct(ctx, sandbox.Node)
	return b.probeEngine(ctx, err)
}

// sweep makes sure that nothing of the direct way is there: nothing can be.
func sweep(parent string) error {
	if _, err := os.Stat(parent); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("look at the folder for running sandboxes: %w", err)
	}
	return nil
}
