package runner

import (
	"context"

	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/internal/clock"
)

// scriptTimeout enforces the timeout that the script gives a call. It covers all that follows the queue, including the start of its
// server and every try. The start goes on for later calls.
func (c *calls) scriptTimeout(next handler) handler {
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
