package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner/durable"
)

// patience bounds how long a call waits in this process before it goes to the queue that all share, which costs more than many a call.
const patience = 500 * time.Millisecond

// place takes a place for a call that need not wait, or not for long. Without an engine, calls wait in this process.
func (s *Server) place(ctx context.Context, customer string) (leave func(), ok bool) {
	if s.opt.Rate > 0 || s.opt.Engine.Crowded(s.workQueue()) { // others come first
		return nil, false
	}
	wait := patience
	if s.opt.TaskAfter >= 0 {
		wait = min(wait, s.opt.TaskAfter)
	}
	return s.queue.Try(ctx, customer, wait)
}

// enqueue makes a task of a call that must wait for its turn.
func (c *toolCall) enqueue(ctx context.Context, in *workInput, made *madeTask) (*mcp.CallToolResult, error) {
	cs := c.cs
	if err := cs.s.startCall(ctx, in, cs.s.workQueue()); err != nil {
		return c.notQueued(ctx, err)
	}
	cs.tasks.count()
	now := time.Now()
	r := &taskRecord{Status: taskWorking, Message: turn(0), Created: now, Updated: now, Expires: now.Add(cs.s.opt.MaxTime + cs.s.opt.KeepTask)}
	made.result = r.view(in.ID)
	made.result.ResultType = "task"
	return &mcp.CallToolResult{}, nil // the task replaces it
}

// notQueued returns the result of a call that the queue did not take.
func (c *toolCall) notQueued(ctx context.Context, err error) (*mcp.CallToolResult, error) {
	if busy, ok := errors.AsType[*durable.BusyError](err); ok {
		return c.busy(ctx, fmt.Sprintf("%d calls wait already", busy.Waiting), busy.RetryAfter)
	}
	return c.cs.result(nil, c.refused(ctx, fmt.Errorf("%s: %w", c.tool.name, err)))
}

// busy is the result of a call that was not made because there was no room.
func (c *toolCall) busy(ctx context.Context, why string, retry time.Duration) (*mcp.CallToolResult, error) {
	seconds := int(max(retry, time.Second).Seconds())
	text := fmt.Sprintf("the server is busy: %s. Nothing was run; try again in %d s.", why, seconds)
	c.refuse(ctx, text)
	return c.cs.result(&reply{text: text, failed: true, data: map[string]any{"success": false, "error": text, "busy": true, "retry_after_seconds": seconds}}, nil)
}

// runQueued makes a call once the queue has a turn for it: here, or in another process. Then its progress, its questions and its result come
// from there. The end of ctx cancels it.
func (c *toolCall) runQueued(ctx context.Context, l *longCall) (*mcp.CallToolResult, error) {
	s, in := c.cs.s, l.input
	in.Follower = s.opt.Engine.Name()
	s.here.Store(in.ID, l)
	defer s.here.Delete(in.ID)
	if err := s.startCall(ctx, in, s.workQueue()); err != nil {
		return c.notQueued(ctx, err)
	}
	f := &follower{toolCall: c, l: l, asked: map[string]bool{}, until: time.Now().Add(s.opt.MaxWait)}
	tick := time.NewTimer(pollTime)
	defer tick.Stop()
	for {
		select {
		case leave := <-l.turn:
			return c.runNow(ctx, leave)
		case <-ctx.Done():
			f.cancel(ctx)
			return c.cs.result(nil, modelErrorf("%s was ended: %v", c.tool.name, context.Cause(ctx)))
		case <-tick.C:
			if end, err := f.look(ctx); err != nil && ctx.Err() == nil {
				c.cs.logger().Warn("a call that waits cannot be read", "error", err)
			} else if end != nil {
				return end()
			}
			tick.Reset(f.pause)
		}
	}
}

// follower passes on what happens to a call in another process.
type follower struct {
	*toolCall
	l     *longCall
	asked map[string]bool // keys of questions that the client has got
	until time.Time       // when it must have its turn
	pause time.Duration   // until the next look
}

// look tells the client what has changed. If the call has ended, it returns the result.
func (f *follower) look(ctx context.Context) (end func() (*mcp.CallToolResult, error), err error) {
	s := f.cs.s
	f.pause = publishTime
	st, err := s.opt.Engine.Get(ctx, f.l.input.ID)
	if err != nil {
		return nil, err
	}
	switch {
	case st.State.Ended():
		return func() (*mcp.CallToolResult, error) { return f.result(st) }, nil
	case st.State == durable.Queued && time.Now().After(f.until):
		return func() (*mcp.CallToolResult, error) {
			f.cancel(ctx)
			return f.busy(ctx, fmt.Sprintf("no place became free for %v", s.opt.MaxWait), min(s.opt.MaxWait, time.Minute))
		}, nil
	case st.State == durable.Queued:
		f.progress.Announce(turn(st.Position))
		return nil, nil
	}
	f.pause = pollTime
	p, err := f.cs.publishedOf(ctx, st.ID)
	if err != nil {
		return nil, err
	}
	if p.Message != "" {
		f.progress.Announce(p.Message)
	}
	for _, q := range p.Questions {
		if !f.asked[q.Key] {
			f.asked[q.Key] = true
			go f.pass(ctx, q)
		}
	}
	return nil, nil
}

// pass asks the client a question of the call, and sends the answer to the process that runs it.
func (f *follower) pass(ctx context.Context, q publishedQuestion) {
	reply, err := f.passOn(ctx, &hiddenQuestion{q.Shown, q.Shown, nil})
	if err != nil {
		return // the call is cancelled
	}
	answer := map[string]any{"action": reply.Action}
	if len(reply.Content) > 0 {
		answer["content"] = reply.Content
	}
	raw, err := json.Marshal(answer)
	if err == nil {
		ctx, cancel := bounded(ctx)
		defer cancel()
		err = f.cs.setAnswer(ctx, f.l.input.ID, q.Key, raw)
	}
	if err != nil {
		f.cs.logger().Warn("an answer could not be kept", "error", err)
	}
}

// cancel cancels the call, unless it has ended.
func (f *follower) cancel(ctx context.Context) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := f.cs.s.opt.Engine.Cancel(ctx, f.l.input.ID); err != nil {
		f.cs.logger().Warn("a call that waits could not be cancelled", "error", err)
	}
}

// result returns what came of the call.
func (f *follower) result(st *durable.Status) (*mcp.CallToolResult, error) {
	out := f.cs.s.outcomeOf(st)
	switch {
	case out.Error != nil:
		return f.cs.result(nil, modelErrorf("%s: %s", f.tool.name, out.Error.Message))
	case len(out.Result) == 0:
		return f.cs.result(nil, modelErrorf("%s was ended: %v", f.tool.name, errTaskCancelled))
	}
	res := &mcp.CallToolResult{}
	var raw struct {
		StructuredContent json.RawMessage `json:"structuredContent"`
	}
	if err := errors.Join(json.Unmarshal(out.Result, res), json.Unmarshal(out.Result, &raw)); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the result cannot be read: " + err.Error()}
	}
	if res.StructuredContent != nil {
		res.StructuredContent = raw.StructuredContent // with numbers as they are
	}
	return res, nil
}
