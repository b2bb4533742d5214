package process

import (
	"context"
	"errors"
	"net"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/meter"
)

// guest is one jail as a sandbox.Process.
type guest struct {
	child  *jail.Child
	heap   *meter.Heap // nil: it runs no V8
	secret string
	taken  bool // the bridge was, while the guest was idle
}

// Bridge implements sandbox.Process. The connection exists before the guest does; one that never speaks is found by
// the handshake's own time limit.
func (g *guest) Bridge(ctx context.Context) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if g.taken {
		return nil, errors.New("the bridge is already in use")
	}
	return g.child.Bridge(), nil
}

// Secret implements sandbox.Process.
func (g *guest) Secret() string { return g.secret }

// Kill implements sandbox.Process.
func (g *guest) Kill() { g.child.Kill() }

// Wait implements sandbox.Process. V8 ends its program itself where its heap is full, and where the kernel gives it no more:
// what one process may have is bounded, also where it is never used, which no watchdog sees.
func (g *guest) Wait() (sandbox.Exit, error) {
	exit, err := g.child.Wait()
	if g.heap != nil && exit.Killed == "" && g.heap.Ended(exit.Code) {
		exit.Killed = sandbox.LimitMemory
		exit.Reach(sandbox.LimitMemory)
	}
	return exit, err
}
