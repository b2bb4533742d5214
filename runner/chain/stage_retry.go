package chain

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
)

const (
	retriesIdempotent = 2
	retriesNotSent    = 1
	firstWait         = 100 * time.Millisecond
)

// retry repeats a call whose connection was lost if that does no harm, because the server cannot have acted on it or a second call has no
// further effect. It marks other errors that a script may retry.
func (c *Calls) retry(next handler) handler {
	return func(ctx context.Context, req *request) (*call.Result, error) {
		wait := firstWait
		for try := 0; ; try++ {
			res, err := next(ctx, req)
			var failed *call.Error
			if err == nil || !errors.As(err, &failed) {
				return res, err
			}
			most := c.retries(req, failed)
			failed.Retryable = most > 0 || failed.Retryable
			if try >= most || !mayHelp(failed) {
				return nil, failed
			}
			req.waiting.begin(ctx, waitRetry)
			if !sleep(ctx, wait) {
				return nil, failed
			}
			req.retries++
			c.tell(Event{Kind: EventRetry, Call: req.Seq, Tool: req.Tool, Message: fmt.Sprintf("%s; retrying (try %d of %d)", failed.Message, try+2, most+1)})
			wait *= 4
		}
	}
}

// retries returns how often a call that failed may be retried.
func (c *Calls) retries(req *request, failed *call.Error) int {
	repeatable := c.chain.repeatable(req)
	var gone *upstream.ConnectionError
	switch {
	case failed.Kind == call.KindTimeout && repeatable:
		failed.Retryable = true // the script may retry; whether to wait as long again is its decision
		return 0
	case failed.Kind != call.KindConnection || !errors.As(failed, &gone) || gone.Login || gone.Missing:
		return 0
	case repeatable:
		return retriesIdempotent
	case gone.NotSent:
		return retriesNotSent
	}
	return 0
}

// mayHelp reports whether retrying at once may help.
func mayHelp(failed *call.Error) bool {
	gone, ok := errors.AsType[*upstream.ConnectionError](failed)
	return !errors.Is(failed, upstream.ErrCircuitOpen) && !(ok && gone.Slow)
}

// sleep waits for about d and reports whether ctx is still alive.
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
