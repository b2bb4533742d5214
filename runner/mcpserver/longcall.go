package mcpserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/progress"
)

// answerKey names the only question in a result.
const answerKey = "answer"

// maxAsked is how often a question is repeated to a client that returns without a usable answer.
const maxAsked = 3

var (
	errCancelled = errors.New("the client cancelled its request")
	errNoAnswer  = errors.New("the client did not return with an answer in time")
)

// startLongCall starts a call and waits for its result or its first question.
func (cs *customerServer) startLongCall(ctx context.Context, v *view, t *tool, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if !cs.s.startWork() {
		return cs.result(nil, modelErrorf("the server is ending; nothing was run"))
	}
	callCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	l := &longCall{
		tool: t.name, began: time.Now(), ctx: callCtx, cancel: cancel, questions: make(chan *pendingQuestion), done: make(chan struct{}),
		adopted: make(chan struct{}),
	}
	made := cs.takesTask(ctx)
	c := &toolCall{cs: cs, view: v, tool: t, args: req.Params.Arguments, canAsk: canAsk(req, false), session: sessionOf(req), client: clientOf(req), task: made != nil}
	run := c.runInTurn
	if cs.s.opt.Engine != nil {
		l.input = cs.inputOf(ctx, t, req, rand.Text())
		leave, free := cs.s.place(ctx, cs.customer.ID)
		switch {
		case free:
			run = func(ctx context.Context, _ *longCall) (*mcp.CallToolResult, error) { return c.runNow(ctx, leave) }
			if made == nil {
				l.input = nil // it never becomes work
			}
		case made != nil && cs.tasks.room():
			defer cs.s.work.Done()
			defer cancel(nil)
			return c.enqueue(ctx, l.input, made)
		default:
			l.turn, run = make(chan func()), c.runQueued
		}
	}
	if l.input != nil {
		c.work = l.input.ID
	}
	l.progress = progress.New(ctx, req, cs.s.opt.Quiet, progress.StageTurn)
	c.progress, c.ask, c.passOn = l.progress, cs.asker(req, l), cs.passer(req, l)
	l.detach = context.AfterFunc(cs.s.ctx, func() { cancel(errClosing) })
	forget := cs.calls.add(c.session, cancel)
	go func() {
		defer cs.s.work.Done()
		defer close(l.done)
		defer forget()
		defer l.detach()
		defer cancel(nil)
		defer l.progress.Close()
		l.result, l.err = run(callCtx, l)
		if c.work != "" && l.turn == nil && l.decided.CompareAndSwap(false, true) {
			cs.s.settled(cs.customer.ID, c.work)
		}
	}()
	return cs.wait(ctx, l)
}

// takesTask returns where to put the task that a call becomes, or nil if its client takes none.
func (cs *customerServer) takesTask(ctx context.Context) *madeTask {
	made, _ := ctx.Value(madeTaskKey{}).(*madeTask)
	if cs.s.opt.TaskAfter < 0 {
		return nil
	}
	return made
}

// runInTurn runs the tool once the queue of this process has a place.
func (c *toolCall) runInTurn(ctx context.Context, _ *longCall) (*mcp.CallToolResult, error) {
	leave, err := c.cs.s.queue.Enter(ctx, c.cs.customer.ID)
	switch {
	case err != nil && ctx.Err() != nil:
		return c.cs.result(nil, modelErrorf("%s was ended before its turn came: %v", c.tool.name, err))
	case err != nil:
		return c.cs.result(nil, c.refused(ctx, err))
	}
	return c.runNow(ctx, leave)
}

// runNow runs the tool in the place that leave frees.
func (c *toolCall) runNow(ctx context.Context, leave func()) (*mcp.CallToolResult, error) {
	c.leave = sync.OnceFunc(leave)
	defer c.leave()
	c.progress.Enter(c.tool.stage)
	return c.cs.result(c.tool.run(ctx, c))
}

// wait waits for the call's result or its next question. If that takes long, the call becomes a task, provided that the client takes one.
func (cs *customerServer) wait(ctx context.Context, l *longCall) (*mcp.CallToolResult, error) {
	var late <-chan time.Time
	made := cs.takesTask(ctx)
	if made != nil && l.turn == nil {
		timer := time.NewTimer(cs.s.opt.TaskAfter)
		defer timer.Stop()
		late = timer.C
	}
	for {
		select {
		case <-l.done:
			return l.result, l.err
		case p := <-l.questions:
			return cs.park(l, p)
		case <-late:
			if made.result = cs.tasks.begin(ctx, l); made.result != nil {
				return &mcp.CallToolResult{}, nil // the task replaces it
			}
		case <-ctx.Done():
			l.cancel(errCancelled)
			<-l.done // nothing of the call may outlive the request
			return nil, ctx.Err()
		}
	}
}

// park returns a question as the result of a request. The call continues with the request that brings the answer.
func (cs *customerServer) park(l *longCall, p *pendingQuestion) (*mcp.CallToolResult, error) {
	cs.parked.mu.Lock()
	defer cs.parked.mu.Unlock()
	if len(cs.parked.byState) >= maxParked {
		p.answer <- &upstream.Reply{Action: "decline"}
		l.cancel(errors.New("too many runs wait for an answer"))
		return cs.result(nil, modelErrorf("too many runs of this customer wait for the user's answer; the run was ended"))
	}
	p.asked++
	state := rand.Text()
	parked := &parkedCall{longCall: l, pending: p}
	parked.timeout = time.AfterFunc(cs.s.opt.AnswerTime, func() {
		if cs.parked.take(state) != nil {
			l.cancel(errNoAnswer)
		}
	})
	if cs.parked.byState == nil {
		cs.parked.byState = map[string]*parkedCall{}
	}
	cs.parked.byState[state] = parked
	l.progress.Detach()
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{answerKey: elicitParams(p.question.shown)}, RequestState: state}, nil
}

// resume continues the parked call whose question the request answers. Without a usable answer it repeats the question.
func (cs *customerServer) resume(ctx context.Context, t *tool, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	p := cs.parked.take(req.Params.RequestState)
	if p == nil || p.tool != t.name {
		if p != nil {
			p.cancel(errCancelled)
		}
		return nil, invalidParams("no run waits for this answer: it was given before, or came too late, or its requestState is not what was sent. Nothing was repeated; make the call again without requestState if it is still wanted.")
	}
	p.timeout.Stop()
	answer := &upstream.Reply{Action: upstream.ActionCancel}
	if res, ok := req.Params.InputResponses[answerKey].(*mcp.ElicitResult); ok && p.pending.question.isUsable(res) {
		answer = p.pending.question.answer(res)
	} else if p.pending.asked < maxAsked {
		return cs.park(p.longCall, p.pending)
	}
	cs.openStream(req)
	p.progress.Attach(ctx, req)
	p.pending.answer <- answer
	return cs.wait(ctx, p.longCall)
}

func decline(context.Context, *upstream.Question) (*upstream.Reply, error) {
	return &upstream.Reply{Action: "decline"}, nil
}

// asker returns the function that asks the client's user. It declines kinds of questions that the client does not support.
func (cs *customerServer) asker(req *mcp.CallToolRequest, l *longCall) upstream.ElicitFunc {
	pass := cs.passer(req, l)
	return func(ctx context.Context, q *upstream.Question) (*upstream.Reply, error) {
		return pass(ctx, cs.hideQuestion(q))
	}
}

// passFunc asks the client's user a question in which personal data is hidden already.
type passFunc func(ctx context.Context, q *hiddenQuestion) (*upstream.Reply, error)

func (cs *customerServer) passer(req *mcp.CallToolRequest, l *longCall) passFunc {
	pass := func(ctx context.Context, q *hiddenQuestion) (*upstream.Reply, error) {
		return cs.elicit(ctx, req, l.progress, q)
	}
	if req.ProtocolVersion() >= firstStateless {
		pass = l.askByResult
	}
	return func(ctx context.Context, q *hiddenQuestion) (*upstream.Reply, error) {
		if !canAsk(req, q.URL != "") {
			return decline(ctx, q.Question)
		}
		return pass(ctx, q)
	}
}

// canAsk reports whether a client can show its user a form or, if page is set, have the user visit a page.
func canAsk(req *mcp.CallToolRequest, page bool) bool {
	caps := req.ClientCapabilities()
	switch {
	case caps == nil || caps.Elicitation == nil:
		return false
	case page:
		return caps.Elicitation.URL != nil
	}
	return caps.Elicitation.Form != nil || caps.Elicitation.URL == nil // neither is set: older clients mean form
}

// askByResult parks the call with a question and waits for the answer in the next request.
func (l *longCall) askByResult(ctx context.Context, q *hiddenQuestion) (*upstream.Reply, error) {
	p := &pendingQuestion{question: q, answer: make(chan *upstream.Reply, 1)}
	select {
	case l.questions <- p:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case answer := <-p.answer:
		return answer, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// elicit sends a question as a request of the server.
func (cs *customerServer) elicit(ctx context.Context, req *mcp.CallToolRequest, p *progress.Progress, hidden *hiddenQuestion) (*upstream.Reply, error) {
	ctx, cancel := p.RequestContext(ctx)
	defer cancel()
	res, err := req.Session.Elicit(ctx, elicitParams(hidden.shown))
	if err != nil {
		cs.logger().Info("a question could not be sent to the client; declined", "error", err)
		return decline(ctx, hidden.Question)
	}
	return hidden.answer(res), nil
}

func elicitParams(q *upstream.Question) *mcp.ElicitParams {
	p := &mcp.ElicitParams{Mode: "form", Message: "[" + ident.CleanLine(cmp.Or(q.Server, "script")) + "] " + ident.CleanText(q.Message)}
	if q.URL != "" {
		p.Mode, p.URL, p.ElicitationID = "url", q.URL, rand.Text()
	} else {
		p.RequestedSchema = q.Schema
	}
	return p
}

// answerOf returns the answer of a client. An accepted form without fields is an empty object.
func answerOf(res *mcp.ElicitResult, q *upstream.Question) *upstream.Reply {
	a := &upstream.Reply{Action: res.Action}
	if a.Action != upstream.ActionAccept || res.Content == nil {
		if a.Action == upstream.ActionAccept && q.URL == "" {
			a.Content = json.RawMessage("{}")
		}
		return a
	}
	content, err := json.Marshal(res.Content)
	if err != nil {
		return &upstream.Reply{Action: "cancel"}
	}
	a.Content = content
	return a
}

// isUsable reports whether a client's answer has a known action and, if accepted, content that fits the form, with what its tokens stand for.
func (q *hiddenQuestion) isUsable(res *mcp.ElicitResult) bool {
	switch res.Action {
	case upstream.ActionDecline, upstream.ActionCancel:
		return true
	case upstream.ActionAccept:
		if q.URL != "" {
			return true
		}
		_, _, err := q.Check(q.answer(res).Content)
		return err == nil
	}
	return false
}

func invalidParams(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}
