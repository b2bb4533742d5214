package runner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
)

const (
	// defaultCallTimeout bounds a call where nothing else is said.
	defaultCallTimeout = 60 * time.Second
	// hardFactor is what MaxTime is, as a multiple of Timeout, where it is not said.
	hardFactor = 10
)

// clock ends something when no sign of it came for a time, or when it has taken too long in all. It can be stopped.
type clock struct {
	soft time.Duration
	end  func(hard bool) // called at most once, in a goroutine of its own

	mu               sync.Mutex
	timer            *time.Timer
	softEnd, hardEnd time.Time
	stopped          int // how many hold it
	since            time.Time
	over             bool
}

// newClock starts a clock.
func newClock(soft, hard time.Duration, end func(hard bool)) *clock {
	now := time.Now()
	c := &clock{soft: soft, end: end, softEnd: now.Add(soft), hardEnd: now.Add(hard)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(min(soft, hard), c.ring)
	return c
}

func (c *clock) ring() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.stopped > 0 {
		return
	}
	now := time.Now()
	if left := c.left(now); left > 0 { // there was a sign meanwhile
		c.timer.Reset(left)
		return
	}
	c.over = true
	go c.end(!now.Before(c.hardEnd))
}

// left is the time until the first end.
func (c *clock) left(now time.Time) time.Duration {
	return min(c.softEnd.Sub(now), c.hardEnd.Sub(now))
}

// sign gives the thing its soft time anew. The timer runs on, and finds out when it rings.
func (c *clock) sign() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.softEnd = time.Now().Add(c.soft)
}

// hold stops the clock until release is called as often.
func (c *clock) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped++; c.stopped == 1 {
		c.since = time.Now()
		c.timer.Stop()
	}
}

func (c *clock) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped--; c.stopped > 0 || c.over {
		return
	}
	now := time.Now()
	held := now.Sub(c.since)
	c.softEnd, c.hardEnd = c.softEnd.Add(held), c.hardEnd.Add(held)
	c.timer.Reset(max(0, c.left(now)))
}

// stop ends the clock; it does not ring any more.
func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.timer.Stop()
}

// callTimeout is why a call's context ended.
type callTimeout struct {
	after time.Duration
	hard  bool // however much progress there was
	own   bool // the script's own
}

func (e *callTimeout) Error() string {
	switch {
	case e.own:
		return fmt.Sprintf("no answer within %v, which is all that the script gave it", e.after)
	case e.hard:
		return fmt.Sprintf("no answer within %v, however much progress there was (max_time in mcpgen.yaml)", e.after)
	}
	return fmt.Sprintf("no answer and no progress within %v (--call-timeout, or timeout in mcpgen.yaml)", e.after)
}

// times are the soft and the hard bound of a call.
func (c *calls) times(req *call.Request) (soft, hard time.Duration) {
	own := c.r.opt.Servers[req.Server]
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

type optionsKey struct{}

// timed bounds one try. Progress renews the time, up to the hard bound; a script's own time is a hard one.
func (c *calls) timed(next call.Handler) call.Handler {
	return func(ctx context.Context, req *call.Request) (*call.Result, error) {
		soft, hard := c.times(req)
		own := req.Timeout > 0 && req.Timeout < min(soft, hard)
		if req.Timeout > 0 {
			hard = min(hard, req.Timeout)
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		clock := newClock(soft, hard, func(isHard bool) {
			late := &callTimeout{after: soft, hard: isHard && hard != soft, own: own}
			if isHard {
				late.after = hard
			}
			cancel(late)
		})
		defer clock.stop()
		c.tell(Event{Kind: EventStarted, Call: req.Seq, Tool: req.Tool})
		return next(context.WithValue(ctx, optionsKey{}, c.options(req, clock, berthOf(ctx))), req)
	}
}

// options is what one call brings along to its server.
func (c *calls) options(req *call.Request, clock *clock, berth *berth) *upstream.CallOptions {
	opt := &upstream.CallOptions{Owner: c, Progress: func(p upstream.Progress) {
		clock.sign()
		c.tell(Event{Kind: EventProgress, Call: req.Seq, Tool: req.Tool, Progress: p})
	}, Land: func(ctx context.Context, bytes int) error {
		clock.hold() // the server has answered
		defer clock.release()
		return berth.take(ctx, landingCopies*int64(bytes))
	}}
	if ask := c.elicit; ask != nil {
		opt.Elicit = func(ctx context.Context, q *upstream.Question) (*upstream.Reply, error) {
			clock.hold() // a person's time is nobody's fault
			defer clock.release()
			return ask(ctx, q)
		}
		opt.Unasked = func(reason string) { c.warn(req, "%.500s", reason) }
	}
	return opt
}

// optionsOf returns what timed put there; nil outside of a run.
func optionsOf(ctx context.Context) *upstream.CallOptions {
	opt, _ := ctx.Value(optionsKey{}).(*upstream.CallOptions)
	return opt
}
