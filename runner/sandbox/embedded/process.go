package embedded

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// process is one running guest.
type process struct {
	ctx     context.Context // of Start: when it ends, the child was killed and not ended by a limit
	child   child
	bridge  chan net.Conn
	setup   setup
	scratch scratch
	killed  atomic.Bool
}

// Bridge returns the host's end of the guest's connection, which exists from the start.
func (p *process) Bridge(ctx context.Context) (net.Conn, error) {
	select {
	case conn := <-p.bridge:
		return conn, nil
	default:
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, errors.New("the bridge was taken already")
}

// Secret is the one that the guest was given.
func (p *process) Secret() string { return p.setup.Secret }

// Kill ends the guest at once.
func (p *process) Kill() {
	p.killed.Store(true)
	p.child.Kill()
}

// Wait waits for the guest's end and removes what was made for it.
func (p *process) Wait() (sandbox.Exit, error) {
	exit, err := p.child.Wait()
	select {
	case conn := <-p.bridge: // nobody took it
		err = errors.Join(err, conn.Close())
	default:
	}
	ended := p.killed.Load() || p.ctx.Err() != nil
	if ended && exit.Code == codeLost {
		// Who ends a run also closes its bridge, and the guest may notice that before the signal arrives.
		exit.Code = codeKilled
	}
	// The guest ends with this code when the engine's own limit was reached, and the kernel ends it so when the
	// machine's memory was. A script that exits with it by itself cannot be told apart; it only fools itself.
	if exit.Code == codeKilled && exit.Killed == "" && !ended {
		exit.Killed = "memory"
	}
	return exit, errors.Join(err, p.scratch.remove())
}

// Exit codes of the guest that mean something to the host.
const (
	codeKilled = 137 // by SIGKILL, or by the guest itself for want of memory
	codeLost   = 125 // the bridge was lost
)
