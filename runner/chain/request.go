package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/cache"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/internal/clock"
	"github.com/mcpgen/mcpgen/runner/journal"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/policy"
)

// request is one call with the state that the stages share. Stages modify it in place.
type request struct {
	call.Request
	isAsk bool // for a resource or a prompt, not a tool

	rank        int // its number among the calls of its tool, from 0; only in a replay
	queueMS     float64
	retries     int
	arguments   json.RawMessage       // of a call that a dry run skipped
	skipped     string                // why, if that is not obvious
	drift       string                // how the tool has changed since the tree was made
	whole       json.RawMessage       // the result that a handle stands for
	parsed      json.RawMessage       // the JSON in a text result, which the guest turns into a value
	memory      *reservation          // for its result; nil outside a run
	clock       *clock.Clock          // of the timeout that the script gave; nil: none
	options     *upstream.CallOptions // of the current try
	decision    *policy.Decision      // the policy's; nil: the call did not get that far
	plugins     []audit.Plugin        // what plugins did about the call
	waiting     waiting
	restored    *pii.Restored    // the values in the arguments that tokens stood for
	hint        string           // what the tool does, as in [policy.Hints.Word]; empty: the call did not get to the policy
	isAudited   bool             // the record has the intent
	isToolError bool             // the raw result is a failure of the tool
	kept        *journal.Call    // what the journal knows of the call; nil without a journal
	isReplayed  bool             // the journal has answered it
	announces   bool             // it must be announced there before it is sent
	cached      *cache.Result    // which has answered it; nil: it was not answered from the cache
	missed      bool             // the cache could not answer it
	misfit      bool             // the result does not match the tool's output schema
	origin      *upstream.Origin // of the answer to the current try; nil without a cache
}

// handler answers a call. The script sees errors that are a *call.Error; any other error is reported to it without
// detail.
type handler func(ctx context.Context, req *request) (*call.Result, error)

// stage wraps a handler.
type stage func(next handler) handler

// wrap wraps the handler last in the stages. The first stage is outermost.
func wrap(last handler, stages ...stage) handler {
	h := last
	for i := len(stages) - 1; i >= 0; i-- {
		h = stages[i](h)
	}
	return h
}

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
		req.waiting.sent()
	}
}

// refusal returns the error for a call that the host refuses.
func refusal(kind call.Kind, req *request, format string, args ...any) *call.Error {
	return &call.Error{Kind: kind, Server: req.Server, Tool: req.Tool, Message: fmt.Sprintf(format, args...)}
}

// waitFor is what a call waits for.
type waitFor string

const (
	waitTurn     waitFor = "a place in the queue"
	waitMemory   waitFor = "memory for its result"
	waitRetry    waitFor = "its next try"
	waitPerson   waitFor = "a person's answer"
	waitApproval waitFor = "a person's approval"
	waitPlugin   waitFor = "a plugin's answer"
	waitAnswer   waitFor = WaitAnswer
	waitStart    waitFor = "the server to start"
	waitList     waitFor = "the server's list of tools"
)

// waiting records what a call waits for, and since when. It is safe for concurrent use.
type waiting struct {
	mu      sync.Mutex
	what    waitFor // empty: nothing yet
	since   time.Time
	reached bool // a server may have acted on a try

	changed func(what waitFor) // called when what changes; may be nil
}

// begin records what the call waits for from now on. After ctx has ended it changes nothing: the last wait is reported.
func (w *waiting) begin(ctx context.Context, what waitFor) {
	w.mu.Lock()
	changes := what != w.what && ctx.Err() == nil
	if changes {
		w.what, w.since = what, time.Now()
	}
	w.mu.Unlock()
	if changes && w.changed != nil {
		w.changed(what)
	}
}

func (w *waiting) now() (what waitFor, took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.what, time.Since(w.since)
}

// sent records that a server may have acted on a try; wasSent reports it.
func (w *waiting) sent() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reached = true
}

func (w *waiting) wasSent() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reached
}

// unsent reports whether the call waits for something that comes before it is sent.
func (w *waiting) unsent() bool {
	what, _ := w.now()
	return what == waitStart || what == waitList
}

// words returns the text after "waiting for".
func (w waitFor) words(server string) string {
	switch w {
	case waitStart:
		return fmt.Sprintf("server %q to start", server)
	case waitList:
		return fmt.Sprintf("the list of tools of server %q", server)
	}
	return string(w)
}

// ofUpstream converts what a request of package upstream waits for.
func ofUpstream(w upstream.Wait) waitFor {
	switch w {
	case upstream.WaitStart:
		return waitStart
	case upstream.WaitList:
		return waitList
	}
	return waitAnswer
}
