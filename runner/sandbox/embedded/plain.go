package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// plainChild is a child without a jail: what the operating system gives any process, and the engine's own limits.
type plainChild struct {
	cmd    *exec.Cmd
	conn   net.Conn
	watch  func() (most int64) // ends the memory watch
	over   atomic.Bool         // the memory watch killed it
	cancel context.CancelFunc
}

// startPlain starts the child. Its standard streams are pipes of ours, copied by goroutines that Wait waits for.
func startPlain(ctx context.Context, exe string, spec sandbox.Spec) (*plainChild, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, exe)
	cmd.Args = []string{plainName}
	cmd.Env = childEnv()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = spec.Stdin, spec.Stdout, spec.Stderr
	// A reader of stdin that blocks must not hold Wait up.
	cmd.WaitDelay = time.Second
	p := &plainChild{cmd: cmd, cancel: cancel}
	conn, afterStart, err := attachBridge(cmd, spec.Limits)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("make the bridge: %w", err)
	}
	err = cmd.Start()
	afterStart()
	if err != nil {
		cancel()
		return nil, errors.Join(fmt.Errorf("start the engine's process: %w", err), conn.Close())
	}
	p.conn = conn
	p.watch = watchMemory(cmd.Process.Pid, spec.Limits.Memory, func() {
		p.over.Store(true)
		p.Kill()
	})
	return p, nil
}

// Bridge returns the host's end.
func (p *plainChild) Bridge() net.Conn { return p.conn }

// Kill ends the child, which has no children of its own.
func (p *plainChild) Kill() { p.cancel() }

// Wait waits for the end of the process and of its output.
func (p *plainChild) Wait() (sandbox.Exit, error) {
	err := p.cmd.Wait()
	p.cancel()
	exit := sandbox.Exit{Code: exitCode(p.cmd.ProcessState), MaxMemory: p.watch()}
	if p.over.Load() {
		exit.Killed = "memory"
	}
	var status *exec.ExitError
	if errors.As(err, &status) || errors.Is(err, exec.ErrWaitDelay) || errors.Is(err, context.Canceled) || p.cmd.ProcessState != nil {
		err = nil // how the guest ended is no error of ours
	}
	return exit, err
}

// samePath is how a child without a jail finds its folders.
func samePath(p string) string { return p }
