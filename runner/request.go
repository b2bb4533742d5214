package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/internal/clock"
)

// request is one call with the state that the stages share. Stages modify it in place.
type request struct {
	call.Request

	rank      int // its number among the calls of its tool, from 0; only in a replay
	queueMS   float64
	retries   int
	reached   bool                  // a server may have acted on it
	arguments json.RawMessage       // of a call that a dry run skipped
	skipped   string                // why, where that is not obvious
	whole     json.RawMessage       // the result that a handle stands for
	memory    *reservation          // for its result; nil outside a run
	clock     *clock.Clock          // of the timeout that the script gave; nil: none
	options   *upstream.CallOptions // of the current try
	waiting   waiting
}

// handler answers a call. Errors that the script may see are *call.Error; any other is reported to it without detail.
type handler func(ctx context.Context, req *request) (*call.Result, error)

// stage wraps a handler.
type stage func(next handler) handler

// callHandler adapts h to the requests of a guest.
func (h handler) callHandler() call.Handler {
	return func(ctx context.Context, req *call.Request) (*call.Result, error) {
		return h(ctx, &request{Request: *req})
	}
}

// recordAttempt records that the server may have acted on the request, unless the error says that it was not sent.
func (req *request) recordAttempt(ctx context.Context, err error) {
	var gone *upstream.ConnectionError
	switch {
	case errors.As(err, &gone) && gone.NotSent:
	case err != nil && ctx.Err() != nil && req.waiting.unsent():
	default:
		req.reached = true
		req.waiting.sent()
	}
}

// refusal returns the error for a call that the host refuses.
func refusal(kind call.Kind, req *request, format string, args ...any) *call.Error {
	return &call.Error{Kind: kind, Server: req.Server, Tool: req.Tool, Message: fmt.Sprintf(format, args...)}
}
