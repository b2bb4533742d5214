package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/meter"
)

// unjailedChild is a child process without a jail. Only the operating system's ordinary limits and the engine's own limits bound it.
type unjailedChild struct {
	cmd     *exec.Cmd
	conn    net.Conn
	streams [3]*os.File // the host's ends of stdin, stdout and stderr
	stop    func() bool // detaches the child from its context; reports whether it did so before the context ended

	done    chan struct{} // closed when the process has ended; waitErr is set before
	waitErr error

	cause  atomic.Pointer[string] // why it was first killed: the name of a limit, or "" for Kill
	limits sandbox.Limits
	copies sync.WaitGroup // goroutines that copy output
	output *meter.Output  // this and the following fields are nil until attach
	memory func() (most int64)
	disk   *meter.Disk
}

// startUnjailed starts a child that waits for attach. Its standard streams are pipes, so that it inherits none of the caller's files. The
// child is killed when ctx ends.
func startUnjailed(ctx context.Context, exe string) (_ *unjailedChild, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := &unjailedChild{cmd: exec.Command(exe), done: make(chan struct{})}
	p.cmd.Args, p.cmd.Env = []string{unjailedName}, childEnv()
	theirs := []*os.File{}
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
		if err != nil {
			p.closeStreams()
		}
	}()
	for i := range p.streams {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, fmt.Errorf("create a pipe: %w", err)
		}
		if i == 0 {
			r, w = w, r
		}
		p.streams[i], theirs = r, append(theirs, w)
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	conn, afterStart, err := attachBridge(p.cmd)
	if err != nil {
		return nil, fmt.Errorf("create the bridge: %w", err)
	}
	err = p.cmd.Start()
	afterStart()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the engine's process: %w", err), conn.Close())
	}
	p.conn = conn
	go func() {
		p.waitErr = p.cmd.Wait()
		close(p.done)
	}()
	p.stop = context.AfterFunc(ctx, p.Kill)
	return p, nil
}

// attach connects the child to a run: it copies the streams, watches the limits, and kills the child when ctx ends.
func (p *unjailedChild) attach(ctx context.Context, spec sandbox.Spec) error {
	if !p.stop() {
		return errors.New("the engine's process ended before it got a run")
	}
	p.stop = context.AfterFunc(ctx, p.Kill)
	p.limits = spec.Limits
	p.output = meter.NewOutput(spec.Limits.Output, func() { p.end(sandbox.LimitOutput) })
	go func() {
		if spec.Stdin != nil {
			_, _ = io.Copy(p.streams[0], spec.Stdin)
		}
		p.streams[0].Close()
	}()
	for i, w := range []io.Writer{spec.Stdout, spec.Stderr} {
		p.copies.Go(func() { _, _ = io.Copy(p.output.Writer(w), p.streams[i+1]) })
	}
	var err error
	if p.memory, err = guard(p.cmd.Process, spec.Limits); err != nil {
		return err
	}
	p.disk = meter.WatchDisk(spec.Workspace, spec.Limits, func() { p.end(sandbox.LimitDisk) })
	return nil
}

// Bridge returns the host's end.
func (p *unjailedChild) Bridge() net.Conn { return p.conn }

// Done is closed when the process has ended.
func (p *unjailedChild) Done() <-chan struct{} { return p.done }

// Kill kills the child, which has no child processes.
func (p *unjailedChild) Kill() { p.end("") }

// end kills the child because it exceeded a limit.
func (p *unjailedChild) end(limit string) {
	p.cause.CompareAndSwap(nil, &limit)
	_ = p.cmd.Process.Kill()
}

func (p *unjailedChild) closeStreams() {
	for _, f := range p.streams {
		if f != nil {
			f.Close()
		}
	}
}

// Wait waits for the end of the process and of its output.
func (p *unjailedChild) Wait() (sandbox.Exit, error) {
	<-p.done
	p.stop()
	p.streams[0].Close() // a Stdin that blocks forever blocks only its own goroutine
	p.copies.Wait()
	p.closeStreams()
	state := p.cmd.ProcessState
	if state == nil {
		return sandbox.Exit{Code: codeLost}, fmt.Errorf("wait for the engine's process: %w", p.waitErr)
	}
	exit := sandbox.Exit{Code: exitCode(state)}
	if p.disk == nil { // never attached
		return exit, nil
	}
	exit.MaxMemory = p.memory()
	full := p.disk.Stop()
	if cause := p.cause.Load(); cause != nil {
		exit.Killed = *cause
	} else {
		exit.Killed = endedBy(state, p.limits, exit.MaxMemory)
	}
	if full {
		exit.Hit = append(exit.Hit, sandbox.LimitDisk)
	}
	return exit, nil
}

// samePath maps folders for a child without a jail.
func samePath(p string) string { return p }
