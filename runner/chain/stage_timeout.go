package chain

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/internal/clock"
)

// scriptTimeout enforces the timeout that the script gives a call. It covers everything after the queue, including the start of the server
// and every try. If it ends the call, the server goes on starting for later calls.
func (c *Calls) scriptTimeout(next handler) handler {
	return func(ctx context.Context, req *request) (*call.Result, error) {
		if req.Timeout > 0 {
			limited, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			ctx = limited
			req.clock = clock.New(req.Timeout, req.Timeout, func(bool) {
				what, _ := req.waiting.now()
				cancel(&callTimeout{after: req.Timeout, own: true, server: req.Server, waits: what, again: req.waiting.wasSent()})
			})
			defer req.clock.Stop()
		}
		return next(ctx, req)
	}
}

const (
	// defaultCallTimeout is the timeout of a call for which none is set.
	defaultCallTimeout = 60 * time.Second
	// hardFactor is the default of MaxTime as a multiple of Timeout.
	hardFactor = 10
)

// timeout bounds one try, including the list of tools that may come first. The start of its server has a limit of its own. Progress
// restarts the timeout, up to the hard limit.
func (c *Calls) timeout(next handler) handler {
	return func(ctx context.Context, req *request) (*call.Result, error) {
		soft, hard := c.times(req)
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		clock := clock.New(soft, hard, func(isHard bool) {
			what, _ := req.waiting.now()
			late := &callTimeout{after: soft, hard: isHard && hard != soft, server: req.Server, waits: what, again: req.waiting.wasSent()}
			if isHard {
				late.after = hard
			}
			cancel(late)
		})
		defer clock.Stop()
		req.waiting.begin(ctx, waitAnswer)
		c.tell(Event{Kind: EventStarted, Call: req.Seq, Tool: req.Tool})
		started := func() {}
		defer func() { started() }()
		held := false
		ctx = upstream.WithWaits(ctx, func(w upstream.Wait) {
			req.waiting.begin(ctx, ofUpstream(w))
			switch starts := w == upstream.WaitStart; {
			case starts && !held:
				held = true
				clock.Hold()
				started = c.starting(req)
			case held && !starts:
				held = false
				started()
				clock.Release()
			}
		})
		req.options = c.options(req, clock)
		return next(ctx, req)
	}
}

// times returns the soft and the hard limit of a call.
func (c *Calls) times(req *request) (soft, hard time.Duration) {
	own := c.chain.settings[req.Server]
	soft = firstOf(c.set.Timeout, own.Timeout, defaultCallTimeout)
	hard = firstOf(c.set.MaxTime, own.MaxTime, hardFactor*soft)
	return soft, hard
}

func firstOf(values ...time.Duration) time.Duration {
	for _, d := range values {
		if d > 0 {
			return d
		}
	}
	return 0
}

// options returns the options of one call for its server.
func (c *Calls) options(req *request, clock *clock.Clock) *upstream.CallOptions {
	// aside stops the call's clocks while the call waits for something other than its server's answer.
	aside := func(ctx context.Context, what waitFor) (back func()) {
		req.waiting.begin(ctx, what)
		clock.Hold()
		req.clock.Hold()
		return func() {
			req.clock.Release()
			clock.Release()
			req.waiting.begin(ctx, waitAnswer)
		}
	}
	opt := &upstream.CallOptions{Owner: c, Progress: func(p upstream.Progress) {
		clock.Renew()
		c.tell(Event{Kind: EventProgress, Call: req.Seq, Tool: req.Tool, Progress: p})
	}, Reserve: func(ctx context.Context, bytes int) error {
		defer aside(ctx, waitMemory)() // the server has answered
		return req.memory.take(ctx, landingCopies*int64(bytes))
	}}
	if c.set.Cache != nil {
		req.origin = &upstream.Origin{}
		opt.Origin = req.origin
	}
	if ask := c.run.Elicit; ask != nil {
		opt.Elicit = func(ctx context.Context, q *upstream.Question) (*upstream.Reply, error) {
			c.clock.Hold() // a person may take any time
			defer c.clock.Release()
			defer aside(ctx, waitPerson)()
			return ask(ctx, q)
		}
		opt.Declined = func(reason string) { c.warn(req, "%.500s", reason) }
	}
	return opt
}

// callTimeout is the cause with which a call's context ends.
type callTimeout struct {
	after  time.Duration
	hard   bool // the hard limit
	own    bool // the timeout that the script gave
	server string
	waits  waitFor // what the call was waiting for
	again  bool    // an earlier try may have been sent
}

// unsent reports whether the call cannot have been sent.
func (e *callTimeout) unsent() bool {
	return !e.again && (e.waits == waitStart || e.waits == waitList)
}

func (e *callTimeout) Error() string {
	nothing, within := "no answer", "within "+config.FormatDuration(e.after)
	switch {
	case e.own:
		within += ", the timeout that the script gave"
	case e.hard:
		within += ", regardless of progress (max_time in mcpgen.yaml)"
	default:
		within += " (--call-timeout, or timeout in mcpgen.yaml)"
		nothing = "no answer and no progress"
	}
	switch {
	case e.again && e.waits != waitAnswer:
		return fmt.Sprintf("%s %s; it was being retried and was waiting for %s", nothing, within, e.waits.words(e.server))
	case e.waits == waitStart:
		return fmt.Sprintf("server %q did not start %s; nothing was sent", e.server, within)
	case e.waits == waitList:
		return fmt.Sprintf("server %q did not list its tools %s; the list is checked against the lock before each call, so nothing was sent", e.server, within)
	}
	return nothing + " " + within
}

// starting stops the run's clock while a server starts for the first time in the run, since it may have to be installed. The returned
// function restarts the clock and may be called more than once.
func (c *Calls) starting(req *request) (started func()) {
	event := Event{Kind: EventStarting, Call: req.Seq, Tool: req.Tool, Message: fmt.Sprintf("server %q is starting", req.Server)}
	c.tell(event)
	_, again := c.starts.LoadOrStore(req.Server, true)
	if !again {
		c.clock.Hold()
	}
	return sync.OnceFunc(func() {
		if !again {
			c.clock.Release()
		}
		event.Message = ""
		c.tell(event)
	})
}
