package pool

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

const (
	// readyTimeout bounds the time from the start of a guest to its readiness.
	readyTimeout = 60 * time.Second
	// maxHello is the maximum number of bytes that are read from a guest before its job; more stay in the connection.
	maxHello = 4096
)

var errSlow = errors.New("it did not become ready in time")

// guest waits for its run.
type guest struct {
	idle  sandbox.Idle
	end   context.CancelCauseFunc // ends the context that it was started with
	conn  net.Conn
	hello []byte
	taken chan struct{} // closed when it leaves its set
}

// ready starts a guest and returns when it has said its hello.
func ready(life context.Context, backend sandbox.Warmer, spec sandbox.Spec) (*guest, error) {
	ctx, end := context.WithCancelCause(life)
	spec.Turn = sandbox.NewTurn(readyTimeout, func() { end(errSlow) })
	defer spec.Turn.Done()
	spec.ID, spec.Secret = "idle-"+rand.Text()[:12], rand.Text()
	idle, err := backend.Warm(ctx, spec)
	if err != nil {
		end(nil)
		return nil, err
	}
	g := &guest{idle: idle, end: end, taken: make(chan struct{})}
	if err := g.listen(ctx); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, errors.Join(fmt.Errorf("wait for an idle guest: %w", err), g.close())
	}
	if !spec.Turn.Done() { // its context has just ended
		return nil, errors.Join(errSlow, g.close())
	}
	return g, nil
}

// listen waits for the hello, and sends the guest the frame that says that there is no job yet.
func (g *guest) listen(ctx context.Context) (err error) {
	if g.conn, err = g.idle.Bridge(ctx); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { g.conn.Close() })
	defer stop()
	g.hello = make([]byte, maxHello)
	n, err := g.conn.Read(g.hello)
	g.hello = g.hello[:n]
	if n == 0 {
		return err
	}
	return bridge.Wait(g.conn)
}

// dead reports whether the guest has ended.
func (g *guest) dead() bool {
	select {
	case <-g.idle.Done():
		return true
	default:
		return false
	}
}

// close ends a guest that will not be used.
func (g *guest) close() error {
	err := g.idle.Close()
	g.end(nil)
	if g.conn != nil {
		g.conn.Close()
	}
	return err
}

// adopt assigns the guest to a run. After an error the guest is gone.
func (g *guest) adopt(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	proc, err := g.idle.Adopt(ctx, spec)
	g.end(nil) // has no effect on an adopted guest
	if err != nil {
		g.conn.Close()
	}
	return proc, err
}

// handOver returns the connection as a run expects it, including everything that the guest has already sent.
func (g *guest) handOver() chan net.Conn {
	c := make(chan net.Conn, 1)
	c <- &replayed{Conn: g.conn, first: g.hello}
	return c
}

// replayed is a connection whose first bytes have already been read. One goroutine may read.
type replayed struct {
	net.Conn
	first []byte
}

// Read returns the bytes that were read before, and then those of the connection.
func (r *replayed) Read(b []byte) (int, error) {
	if len(r.first) == 0 {
		return r.Conn.Read(b)
	}
	n := copy(b, r.first)
	r.first = r.first[n:]
	return n, nil
}

// process is the guest of a run.
type process struct {
	sandbox.Process
	pool *Pool
	conn chan net.Conn // holds the connection of an adopted guest; nil for one that was started for its run
}

// Bridge returns the guest's connection, or waits for it.
func (x *process) Bridge(ctx context.Context) (net.Conn, error) {
	if x.conn == nil {
		return x.Process.Bridge(ctx)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case conn := <-x.conn:
		return conn, nil
	default:
		return nil, errors.New("the bridge is already in use")
	}
}

// Remote implements sandbox.Remote for the guest's own process.
func (x *process) Remote() bool { return sandbox.IsRemote(x.Process) }

// Wait waits for the guest's end.
func (x *process) Wait() (sandbox.Exit, error) {
	exit, err := x.Process.Wait()
	select {
	case conn := <-x.conn: // no caller has taken it
		conn.Close()
	default:
	}
	x.pool.mu.Lock()
	defer x.pool.mu.Unlock()
	delete(x.pool.runs, x)
	x.pool.stats.Running--
	return exit, err
}
