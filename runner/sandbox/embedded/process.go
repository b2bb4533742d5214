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
	ctx     context.Context // once it is done, the caller killed the child; no limit did
	child   child
	conn    net.Conn      // the host's end of the bridge
	bridge  chan net.Conn // holds conn until Bridge is called
	secret  string
	scratch scratch
	killed  atomic.Bool
}

// Bridge returns the host's end of the guest's connection. It can be called once.
func (p *process) Bridge(ctx context.Context) (net.Conn, error) {
	select {
	case conn := <-p.bridge:
		return conn, nil
	default:
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, errors.New("Bridge was called before")
}

// Secret returns the secret that was given to the guest.
func (p *process) Secret() string { return p.secret }

// Kill kills the guest at once.
func (p *process) Kill() {
	p.killed.Store(true)
	p.child.Kill()
}

// Wait waits until the guest has ended, and removes its scratch folder.
func (p *process) Wait() (sandbox.Exit, error) {
	exit, err := p.child.Wait()
	select {
	case conn := <-p.bridge: // Bridge was never called
		err = errors.Join(err, conn.Close())
	default:
	}
	ended := p.killed.Load() || p.ctx.Err() != nil
	if ended && exit.Code == codeLost {
		// Ending a run closes its bridge too, and the guest may notice that before the signal arrives.
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
	codeKilled = 137 // what a shell reports for SIGKILL
	codeLost   = 125 // the bridge was lost
)
