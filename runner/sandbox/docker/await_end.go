package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/supervise"
)

// awaitEnd waits until the engine has removed the container, and kills the guest on request. If the guest has ended or was
// killed, the engine has killTime to report it.
func (p *process) awaitEnd() {
	kill, over := p.kill, p.over
	var timeout <-chan time.Time
	for {
		select {
		case res := <-p.removed.Result:
			p.removed.Result = nil
			p.finish(res)
			p.checkEngineAlive()
			return
		case err := <-p.removed.Error:
			p.removed.Result = nil
			p.lost(err)
			return
		case <-timeout:
			err := p.backend.ping()
			if err == nil {
				err = errStuck
			}
			p.lost(err)
			return
		case <-kill:
			kill = nil
			go p.signal()
		case <-over:
			over = nil
		}
		if timeout == nil {
			timeout = time.After(killTime + p.grace)
		}
	}
}

// ping returns an error if the engine does not answer on a new connection: one that is shutting down still answers on old ones.
func (b *Backend) ping() error {
	ctx, cancel := context.WithTimeout(context.Background(), pingTime)
	defer cancel()
	conn, err := b.client.Dialer()(ctx)
	if err != nil {
		return err
	}
	conn.Close()
	_, err = b.client.Ping(ctx, client.PingOptions{})
	return err
}

// signal kills every process of the container: directly if they run on this machine, which is fast and needs no engine.
func (p *process) signal() {
	if p.stopRelay != nil && p.stopRelay() {
		return
	}
	if in := p.view.Load(); in != nil {
		if err := in.Kill(); err == nil {
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	if _, err := p.backend.client.ContainerKill(ctx, p.id, client.ContainerKillOptions{Signal: "KILL"}); err != nil {
		p.backend.log.Debug("kill a container", "container", p.id, "error", err) // it may have ended by itself
	}
}

// finish records what the engine reports about the end.
func (p *process) finish(res container.WaitResponse) {
	p.Ended()
	p.exit.Code = int(res.StatusCode)
	if p.keeps {
		p.finishPodman()
		return
	}
	if res.Error != nil {
		p.backend.log.Warn("the engine could not remove a container", "container", p.id, "error", res.Error.Message)
		p.err = p.backend.removeContainer(context.Background(), p.id)
	}
}

// checkEngineAlive reports the engine as lost if it killed the guest because it is shutting down.
func (p *process) checkEngineAlive() {
	if p.Killed() || p.exit.Code != supervise.CodeKilled {
		return
	}
	if used, _ := p.used(); used.OutOfMemory > 0 {
		return
	}
	if err := p.backend.ping(); err != nil && !isSlow(err) {
		p.lost(err)
	}
}

// lost kills and removes a container whose end the engine does not report, and records that the run failed through the backend.
// Containers of an engine that is gone are removed when it is back.
func (p *process) lost(err error) {
	p.Kill()
	p.exit.Code = supervise.CodeKilled
	if in := p.view.Load(); in != nil {
		if err := in.Kill(); err != nil {
			p.backend.log.Warn("kill a container whose engine is gone", "container", p.id, "error", err)
		}
	}
	if answered(err) {
		p.err = errors.Join(fmt.Errorf("wait for container %s to end: %w", p.id, err), p.backend.removeContainer(context.Background(), p.id))
		return
	}
	p.lostEngine = true
	p.err = &EngineLostError{Host: p.backend.opt.Host, Err: rootCause(err)}
	p.backend.left.Store(true)
}

// answered reports whether an error is the answer of a live engine.
func answered(err error) bool {
	return errors.Is(err, errStuck) || errdefs.IsNotFound(err) || errdefs.IsConflict(err) || errdefs.IsInvalidArgument(err)
}
