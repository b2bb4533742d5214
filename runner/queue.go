package runner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
)

// defaultParallel is how many calls are under way at once: of one run, and at one server.
const defaultParallel = 64

// queue has calls wait for their turn: of their run and server, of their run, and of their server among all runs, in this
// order. So a slow server keeps a run from others only as far as it takes all that the run may have, and a run that makes
// many calls holds back no other run while it waits for its own turn.
func (c *calls) queue(next call.Handler) call.Handler {
	return func(ctx context.Context, req *call.Request) (*call.Result, error) {
		start := time.Now()
		own := liveOf(ctx)
		own.server = req.Server
		own.waiting.begin(ctx, waitTurn)
		for _, slots := range []chan struct{}{c.gate(req.Server), c.slots, c.r.slots(req.Server)} {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			case <-ctx.Done():
				return nil, callError(ctx, req, ctx.Err())
			}
		}
		own.queueMS = ms(time.Since(start))
		return next(ctx, req)
	}
}

// gate holds as many of the run's calls to a server as the server takes.
func (c *calls) gate(server string) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gates[server] == nil {
		c.gates[server] = make(chan struct{}, c.r.parallel(server))
	}
	return c.gates[server]
}

// slots holds the calls of all runs to a server.
func (r *Runner) slots(server string) chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.servers[server] == nil {
		r.servers[server] = make(chan struct{}, r.parallel(server))
	}
	return r.servers[server]
}

func (r *Runner) parallel(server string) int {
	if n := r.opt.Servers[server].Parallel; n > 0 {
		return n
	}
	return defaultParallel
}

const (
	retriesIdempotent = 2
	retriesNotSent    = 1
	firstWait         = 100 * time.Millisecond
)

// retry makes a call again whose connection was lost, when that can do no harm: the server cannot have acted on it, or
// doing it twice is as good as once. It says of other errors whether a script may do so.
func (c *calls) retry(next call.Handler) call.Handler {
	return func(ctx context.Context, req *call.Request) (*call.Result, error) {
		wait := firstWait
		for try := 0; ; try++ {
			res, err := next(ctx, req)
			var failed *call.Error
			if err == nil || !errors.As(err, &failed) {
				return res, err
			}
			again := c.again(req, failed)
			failed.Retryable = again > 0 || failed.Retryable
			if try >= again || !helps(failed) {
				return nil, failed
			}
			liveOf(ctx).waiting.begin(ctx, waitRetry)
			if !sleep(ctx, wait) {
				return nil, failed
			}
			liveOf(ctx).retries++
			c.tell(Event{Kind: EventRetry, Call: req.Seq, Tool: req.Tool, Message: fmt.Sprintf("%s; the call is made again (try %d of %d)", failed.Message, try+2, again+1)})
			wait *= 4
		}
	}
}

// again says how often a call that failed may be made again.
func (c *calls) again(req *call.Request, failed *call.Error) int {
	repeatable := c.r.repeatable(req)
	var gone *upstream.ConnectionError
	switch {
	case failed.Kind == call.KindTimeout && repeatable:
		failed.Retryable = true // a script may; once more of the same wait is not for us to choose
		return 0
	case failed.Kind != call.KindConnection || !errors.As(failed, &gone) || gone.Login:
		return 0
	case repeatable:
		return retriesIdempotent
	case gone.NotSent:
		return retriesNotSent
	}
	return 0
}

// helps tells whether trying again at once may help.
func helps(failed *call.Error) bool { return !errors.Is(failed, upstream.ErrCircuitOpen) }

// sleep waits about d and tells whether ctx still goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d/2 + rand.N(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
