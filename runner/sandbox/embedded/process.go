package embedded

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// process is one running guest.
type process struct {
	ctx     context.Context // when it ends, the child was killed and not ended by a limit
	child   child
	conn    net.Conn      // the host's end of the bridge
	bridge  chan net.Conn // the same, until somebody takes it
	secret  string
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
func (p *process) Secret() string { return p.secret }

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
	if exit.Killed != "" && !slices.Contains(exit.Hit, exit.Killed) {
		exit.Hit = append(exit.Hit, exit.Killed)
		slices.Sort(exit.Hit)
	}
	return exit, errors.Join(err, p.scratch.remove())
}

// Exit codes of the guest that mean something to the host.
const (
	codeKilled = 137 // as a shell has it for SIGKILL
	codeLost   = 125 // the bridge was lost
)
