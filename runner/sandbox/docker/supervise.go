package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

const (
	// killTime is how long a container that has ended may take to be gone before it is removed by force.
	killTime = 20 * time.Second
	// drainTime is how long the engine may take to deliver the rest of the output of a container that is gone.
	drainTime = 5 * time.Second
	// pingPause is how often an engine is asked whether it lives, while it owes the end of a container, and pingTime how
	// long it may take to answer.
	pingPause, pingTime = 500 * time.Millisecond, time.Second
	// engineTimeout is how long an engine may answer nothing at all before it counts as gone. One that is gone refuses at
	// once; this is for one that hangs, or has more to do than the machine can.
	engineTimeout = 20 * time.Second
)

var errStuck = errors.New("it did not end when it was killed")

// EngineLostError says that the engine went away during a run, which was ended.
type EngineLostError struct {
	Host string
	Err  error
}

func (e *EngineLostError) Error() string {
	return fmt.Sprintf("docker engine at %s went away while a script was running, so the script was ended: %v", e.Host, e.Err)
}

func (e *EngineLostError) Unwrap() error { return e.Err }

// Hint is what a person can do about it.
func (e *EngineLostError) Hint() string {
	return "find out why it stopped (journalctl -u docker) or wait until it is up again, then run the script again"
}

// supervise waits for the container's end and removal, and brings them about when it has to. An engine that should
// have news of the end, because the guest was killed or this machine's kernel says that it is gone, is asked whether it
// still lives.
func (p *process) supervise() {
	kill, over := p.kill, p.over.c
	var since, heard time.Time // when its news became due; when it last answered
	var patience <-chan time.Time
	for {
		select {
		case res := <-p.removed.Result:
			p.removed.Result = nil
			p.finish(res)
			p.suspect()
			return
		case err := <-p.removed.Error:
			p.removed.Result = nil
			p.lost(err)
			return
		case <-patience:
			switch err := p.backend.ping(); {
			case err == nil:
				heard = time.Now()
			case !isSlow(err) || time.Since(heard) > engineTimeout:
				p.lost(err)
				return
			}
			if time.Since(since) > killTime+p.grace {
				p.lost(errStuck)
				return
			}
		case <-kill:
			kill = nil
			go p.signal()
		case <-over:
			over = nil
		}
		if since.IsZero() {
			since = time.Now()
			heard = since
		}
		patience = time.After(pingPause)
	}
}

// ping finds out whether the engine lives: one that is about to end still answers on the connections it has, but takes
// no new ones.
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

// isSlow reports whether an engine is silent, rather than refusing or absent.
func isSlow(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// signal kills every process of the container: by this machine's kernel where that is possible, which takes no time and
// works without the engine.
func (p *process) signal() {
	if p.softly != nil && p.softly() {
		return
	}
	if in := p.usage.kernel(); in != nil {
		if err := in.kill(); err == nil {
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
	p.mu.Lock()
	p.given = p.ending
	p.mu.Unlock()
	p.exit.Code = int(res.StatusCode)
	if p.given && p.exit.Code != 0 {
		// It may have noticed that its host had given it up, and ended by itself a moment before the kill.
		p.exit.Code = signalKill
	}
	if p.stays {
		p.finishStaying()
		return
	}
	if res.Error != nil {
		p.backend.log.Warn("the engine had trouble to remove a container", "container", p.id, "error", res.Error.Message)
		p.err = p.backend.removeContainer(context.Background(), p.id)
	}
}

// suspect finds out whether a guest that was killed without being given up was killed by its engine, which does that to
// all when it is stopped.
func (p *process) suspect() {
	if p.given || p.exit.Code != signalKill {
		return
	}
	if used, _ := p.usage.get(); used.ooms > 0 {
		return
	}
	if err := p.backend.ping(); err != nil && !isSlow(err) {
		p.lost(err)
	}
}

// lost is for a container whose end the engine does not tell: it is killed and removed, and the run is a failure of the
// backend. What an engine that is gone keeps is removed when it is there again.
func (p *process) lost(err error) {
	p.given, p.exit.Code = true, signalKill
	if in := p.usage.kernel(); in != nil {
		if err := in.kill(); err != nil {
			p.backend.log.Warn("kill a container whose engine is gone", "container", p.id, "error", err)
		}
	}
	if answered(err) {
		p.err = errors.Join(fmt.Errorf("wait for the end of container %s: %w", p.id, err), p.backend.removeContainer(context.Background(), p.id))
		return
	}
	p.lostEngine = true
	p.err = &EngineLostError{Host: p.backend.opt.Host, Err: unwrapped(err)}
	p.backend.left.Store(true)
}

// answered reports whether an error is the answer of a live engine.
func answered(err error) bool {
	return errors.Is(err, errStuck) || errdefs.IsNotFound(err) || errdefs.IsConflict(err) || errdefs.IsInvalidArgument(err)
}
