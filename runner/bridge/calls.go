package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/mcpgen/mcpgen/runner/call"
)

// maxTool bounds a tool id. The longest that a tree can hold is far below.
const maxTool = 1024

// running is a call that was accepted and has no reply yet.
type running struct {
	stop context.CancelFunc
	size int
	// cancelled tells that the guest no longer waits for it.
	cancelled bool
}

// accept starts a call in a goroutine of its own.
func (s *session) accept(ctx context.Context, msg *callMsg) error {
	if msg.id <= s.lastID {
		return violation("call id %d after %d", msg.id, s.lastID)
	}
	s.lastID = msg.id
	ctx, stop := context.WithCancel(ctx)
	r := &running{stop: stop, size: len(msg.args) + len(msg.tool)}
	s.mu.Lock()
	count, pending := len(s.running)+1, s.pending+r.size
	if count <= s.opts.MaxInFlight && pending <= s.opts.MaxPending {
		s.running[msg.id], s.pending = r, pending
	}
	s.mu.Unlock()
	switch {
	case count > s.opts.MaxInFlight:
		stop()
		return violation("more than %d calls at once", s.opts.MaxInFlight)
	case pending > s.opts.MaxPending:
		stop()
		return violation("more than %d bytes of arguments at once", s.opts.MaxPending)
	}
	s.out.Calls++
	s.handlers.Go(func() {
		defer stop()
		s.serve(ctx, msg, r)
	})
	return nil
}

// cancel ends a call. One that has been answered meanwhile is no mistake.
func (s *session) cancel(id int64) error {
	if s.cancels++; id > s.lastID || s.cancels > s.out.Calls {
		return violation("cancel of a call that was not made")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.running[id]; r != nil {
		r.cancelled = true
		r.stop()
	}
	return nil
}

// serve waits for its turn, runs the handler and sends the reply.
func (s *session) serve(ctx context.Context, msg *callMsg, r *running) {
	var res *call.Result
	var err error
	select {
	case s.slots <- struct{}{}:
		// Held until the reply is written, so that a guest that does not read cannot pile up replies.
		defer func() { <-s.slots }()
		res, err = s.handle(ctx, msg)
	case <-ctx.Done():
		err = ctx.Err()
	}
	defer s.forget(msg.id, r)
	if s.silent(r) {
		return
	}
	if werr := s.reply(ctx, msg, res, err); werr != nil {
		s.end(fmt.Errorf("%w: send a reply: %w", ErrClosed, werr))
	}
}

// forget ends the counting of a call: only after its reply is written, for until then its bytes are here.
func (s *session) forget(id int64, r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, id)
	s.pending -= r.size
}

// silent tells whether nobody waits for a call's reply any more.
func (s *session) silent(r *running) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over || r.cancelled
}

// handle calls the handler. A handler that panics fails this call; other runs may be served by the same program.
func (s *session) handle(ctx context.Context, msg *callMsg) (res *call.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			res, err = nil, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, err // cancelled while it waited: the turn may come at the same moment
	}
	if len(msg.tool) > maxTool {
		return nil, &call.Error{Kind: call.KindArgument, Message: fmt.Sprintf("a tool id of %d bytes: no tool has one", len(msg.tool))}
	}
	if msg.args[0] != '{' {
		return nil, &call.Error{Kind: call.KindArgument, Tool: msg.tool, Message: "arguments are not an object"}
	}
	return s.opts.Handler(ctx, &call.Request{Tool: msg.tool, Args: msg.args})
}

// reply sends what the handler returned; the error is the connection's.
func (s *session) reply(ctx context.Context, msg *callMsg, res *call.Result, err error) error {
	if err != nil {
		return s.replyError(msg.id, s.visible(ctx, msg, err))
	}
	value := json.RawMessage("null")
	if res != nil && len(res.Value) > 0 {
		value = res.Value
	}
	head := replyHead(msg.id, "value")
	if size := len(head) + len(value) + len(replyTail); size > s.opts.MaxFrame {
		return s.replyError(msg.id, &call.Error{Kind: call.KindProtocol, Tool: msg.tool,
			Message: fmt.Sprintf("the answer has %d bytes; one answer can have at most %d", len(value), s.opts.MaxFrame)})
	}
	if err := checkValue(value); err != nil {
		return s.replyError(msg.id, &call.Error{Kind: call.KindProtocol, Tool: msg.tool,
			Message: "the answer cannot be passed on: " + err.Error()})
	}
	return s.w.write(head, value, []byte(replyTail))
}

func (s *session) replyError(id int64, e *call.Error) error {
	head := replyHead(id, "error")
	return s.w.write(head, errorValue(e, s.opts.MaxFrame-len(head)-len(replyTail)), []byte(replyTail))
}

// visible turns a handler's error into what the script may see of it.
func (s *session) visible(ctx context.Context, msg *callMsg, err error) *call.Error {
	var e *call.Error
	if errors.As(err, &e) {
		return e
	}
	if ctx.Err() != nil {
		return &call.Error{Kind: call.KindCancelled, Tool: msg.tool, Message: "the call was cancelled"}
	}
	s.opts.Logger.Error("handle a call", "tool", msg.tool, "error", err)
	return &call.Error{Kind: call.KindInternal, Tool: msg.tool, Message: "internal error; the log of mcprun says more"}
}
