package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/call"
)

// maxName bounds the length of a tool id and a method in bytes. Real ones are much shorter.
const maxName = 1024

// running is an accepted call without a reply.
type running struct {
	msg  *callMsg
	ctx  context.Context
	stop context.CancelFunc
	size int
	// cancelled reports whether the guest has cancelled the call.
	cancelled bool
}

// accept passes a call to a goroutine: an idle one that has served other calls, because its stack has already grown, or else a new one. The
// frame, of size bytes, stays in memory as long as the call.
func (s *session) accept(ctx context.Context, msg *callMsg, size int) error {
	r, err := s.register(ctx, msg, size)
	if err != nil {
		return err
	}
	select {
	case s.next <- r:
	default:
		s.handlers.Go(func() {
			for r != nil {
				s.serve(r)
				select {
				case r = <-s.next:
				case <-ctx.Done():
					r = nil
				}
			}
		})
	}
	return nil
}

// register counts a call as running; the caller must serve it.
func (s *session) register(ctx context.Context, msg *callMsg, size int) (*running, error) {
	if msg.id <= s.lastID {
		return nil, violation("call id %d after %d", msg.id, s.lastID)
	}
	if len(msg.args) < size/2 {
		msg.args = bytes.Clone(msg.args) // so that blanks do not keep a whole frame in memory
	}
	msg.seq = s.seq + 1
	ctx, stop := context.WithCancel(ctx)
	r := &running{msg: msg, ctx: ctx, stop: stop, size: size}
	s.mu.Lock()
	count, pending := len(s.running)+1, s.pending+r.size
	if count <= s.opts.maxInFlight && pending <= s.opts.maxPending {
		s.running[msg.id], s.pending = r, pending
	}
	s.mu.Unlock()
	switch {
	case count > s.opts.maxInFlight:
		stop()
		return nil, violation("more than %d calls at once", s.opts.maxInFlight)
	case pending > s.opts.maxPending:
		stop()
		return nil, violation("more than %d bytes of calls at once", s.opts.maxPending)
	}
	s.lastID, s.seq = msg.id, msg.seq
	if !msg.request {
		s.out.Calls++
	}
	return r, nil
}

// cancel ends a call. It is not an error if the call has been answered in the meantime.
func (s *session) cancel(id int64) error {
	if s.cancels++; id > s.lastID || s.cancels > s.seq {
		return violation("cancel for a call that was not made")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.running[id]; r != nil {
		r.cancelled = true
		r.stop()
	}
	return nil
}

// serve waits for a free slot, runs the handler and sends the reply.
func (s *session) serve(r *running) {
	ctx, msg := r.ctx, r.msg
	defer r.stop()
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
	if err == nil && res != nil {
		size := len(res.Value)
		if total := s.move(size); total != nil {
			s.end(total)
			return
		}
		if err = s.keep(msg, size); err != nil {
			res = nil
		} else {
			defer s.release(size)
		}
	}
	if werr := s.reply(ctx, msg, res, err); werr != nil {
		s.end(fmt.Errorf("%w: send a reply: %w", ErrClosed, werr))
	}
}

// keep counts the bytes of an answer that is about to be written, and refuses the answer if too many bytes wait.
func (s *session) keep(msg *callMsg, size int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unread > 0 && s.unread+size > s.opts.maxUnread {
		return &call.Error{Kind: call.KindProtocol, Tool: msg.tool(),
			Message: fmt.Sprintf("the answer of %d bytes was dropped: the script would have more than %d bytes of unread answers; await some calls before making more", size, s.opts.maxUnread)}
	}
	s.unread += size
	return nil
}

func (s *session) release(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unread -= size
}

// forget stops counting a call. It runs after the reply is written: until then the call's bytes are in memory.
func (s *session) forget(id int64, r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, id)
	s.pending -= r.size
}

// silent reports whether a call gets no reply. Otherwise, when a run has ended, its script would see a call fail before it learns of the
// end, and report the failed call as the cause.
func (s *session) silent(r *running) bool {
	if s.ended() {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over || r.cancelled
}

// handle calls the handler. A panic of the handler fails this call only, because the same program may be serving other runs.
func (s *session) handle(ctx context.Context, msg *callMsg) (res *call.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			res, err = nil, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, err // it was cancelled while waiting for a slot
	}
	if len(msg.name) > maxName {
		return nil, msg.refused(fmt.Sprintf("%s of %d bytes is too long", msg.what(), len(msg.name)))
	}
	if msg.args[0] != '{' {
		return nil, msg.refused("arguments are not an object")
	}
	if !msg.request {
		return s.opts.Handler(ctx, &call.Request{Tool: msg.name, Args: msg.args, Seq: msg.seq, Timeout: msg.timeout, Raw: msg.raw, At: msg.at, Step: msg.step})
	}
	if s.opts.Answers == nil {
		return nil, msg.refused(fmt.Sprintf("unknown method %q: this host answers tool calls only", msg.name))
	}
	value, err := s.opts.Answers(ctx, &call.Ask{Method: msg.name, Params: msg.args, Seq: msg.seq, At: msg.at, Step: msg.step})
	return &call.Result{Value: value}, err
}

// what describes what the name of the message stands for.
func (m *callMsg) what() string {
	if m.request {
		return "a method"
	}
	return "a tool id"
}

// tool returns the id of the tool for errors, or "" for a request or an impossible id.
func (m *callMsg) tool() string {
	if m.request || len(m.name) > maxName {
		return ""
	}
	return m.name
}

// refused returns the error for a message that is not handled.
func (m *callMsg) refused(message string) *call.Error {
	return &call.Error{Kind: call.KindArgument, Tool: m.tool(), Message: message}
}

// reply sends what the handler returned; the error is the connection's.
func (s *session) reply(ctx context.Context, msg *callMsg, res *call.Result, err error) error {
	if err != nil {
		return s.replyError(msg.id, s.visible(ctx, msg, err))
	}
	value, as := json.RawMessage("null"), call.AsValue
	if res != nil && len(res.Value) > 0 {
		value, as = res.Value, res.As
	}
	head := replyHead(msg.id, "value", as)
	if size := len(head) + len(value) + len(replyTail); size > s.opts.maxFrame {
		return s.replyError(msg.id, &call.Error{Kind: call.KindProtocol, Tool: msg.tool(),
			Message: fmt.Sprintf("the answer has %d bytes; one answer can have at most %d", len(value), s.opts.maxFrame)})
	}
	if err := checkValue(value); err != nil {
		return s.replyError(msg.id, &call.Error{Kind: call.KindProtocol, Tool: msg.tool(),
			Message: "the answer cannot be passed to the script: " + err.Error()})
	}
	return s.w.write(head, value, []byte(replyTail))
}

func (s *session) replyError(id int64, e *call.Error) error {
	head := replyHead(id, "error", call.AsValue)
	return s.w.write(head, errorValue(e, s.opts.maxFrame-len(head)-len(replyTail)), []byte(replyTail))
}

// visible converts a handler's error to what the script may see of it.
func (s *session) visible(ctx context.Context, msg *callMsg, err error) *call.Error {
	var e *call.Error
	if errors.As(err, &e) {
		return e
	}
	if ctx.Err() != nil {
		return &call.Error{Kind: call.KindCancelled, Tool: msg.tool(), Message: "the call was cancelled"}
	}
	s.opts.Logger.Error("answer "+msg.what(), "name", ident.Clip(msg.name, maxName), "error", err)
	return &call.Error{Kind: call.KindInternal, Tool: msg.tool(), Message: "internal error; see the mcprun log"}
}
