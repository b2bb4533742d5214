package runner

import (
	"context"

	"github.com/mcpgen/mcpgen/runner/call"
)

// waitForMemory makes a call wait until there is memory for its result, if its size can be expected.
func (c *calls) waitForMemory(next handler) handler {
	return func(ctx context.Context, req *request) (*call.Result, error) {
		if bytes := c.r.memory.expect(req.Tool); bytes > 0 {
			req.waiting.begin(ctx, waitMemory)
			if err := req.memory.take(ctx, bytes); err != nil {
				return nil, callError(ctx, req, err)
			}
		}
		res, err := next(ctx, req)
		if err == nil && res != nil {
			c.r.memory.note(req.Tool, len(res.Value))
		}
		return res, err
	}
}
