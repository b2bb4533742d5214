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
	heap   *meter.Heap // nil if it does not run V8
	secret string
	taken  bool // the bridge was taken while the guest was idle
}

// Bridge implements sandbox.Process. The connection exists before the guest does. If the guest never uses it, the handshake times out.
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

// Wait implements sandbox.Process. V8 ends its program itself when its heap is full, and when the kernel gives it no more memory. The
// kernel bounds what a process may reserve, even if it never uses it, which no watchdog sees.
func (g *guest) Wait() (sandbox.Exit, error) {
	exit, err := g.child.Wait()
	if g.heap != nil && exit.Killed == "" && g.heap.Ended(exit.Code) {
		exit.Killed = sandbox.LimitMemory
		exit.Reach(sandbox.LimitMemory)
	}
	return exit, err
}
