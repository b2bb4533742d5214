package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/durable"
	"github.com/mcpgen/mcpgen/runner/internal/seal"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/progress"
	"github.com/mcpgen/mcpgen/runner/store"
)

// With an engine, a call that outlives its request, or waits for its turn, is durable work: it continues in another process, where it runs
// again from its beginning. The journal that is named after the work gives it the answers that it had.
const (
	workKind = "call.v1"
	// kindResult is the kind of what a call returns, as workKind is of what it is given.
	kindResult = "call.v1-result"
	// sealing is the purpose of the key that seals calls.
	sealing = "mcprun calls 1"
	// Priorities in the queue, of one customer's calls: lower numbers first.
	priorityWaited = 0 // a client waits for the answer
	priorityTask   = 1
	// closeTime is how long calls that continue elsewhere may end here when the server is closed.
	closeTime = 3 * time.Second
	// adoptTime bounds how long a call waits until it is work.
	adoptTime = 5 * time.Second
	// maxBegun is how often a call begins if its processes die, perhaps of it.
	maxBegun = 5
	// forgetTime is the longest pause between two removals of what has expired.
	forgetTime = 5 * time.Minute
	// strandTime is how long calls wait for a server that can go on with them: more than a restart or an update takes, and less than a person
	// waits for an answer that does not come.
	strandTime = 10 * time.Minute
)

// workInput is a call as it is kept.
type workInput struct {
	ID        string          `json:"id"`       // of the work
	Customer  string          `json:"customer"` // whose it is
	Tool      string          `json:"tool"`
	Called    string          `json:"called,omitempty"` // the name under which otherTool was called
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Session   string          `json:"session,omitempty"`
	Client    Client          `json:"client"`
	Form      bool            `json:"form,omitempty"` // the client can show forms
	Page      bool            `json:"page,omitempty"` // it can have the user visit pages
	// Follower is the process whose client waits for the result. The call is pointless without it. Empty: it is a task.
	Follower string `json:"follower,omitempty"`
}

// outcome is what came of a call.
type outcome struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  *jsonrpc.Error  `json:"error,omitempty"`
}

// launch makes the engine do the work of calls.
func (s *Server) launch(ctx context.Context) error {
	e := s.opt.Engine
	e.Register(workKind, s.doWork)
	err := s.openWorkflows(ctx)
	if err != nil {
		return err
	}
	err = e.AddQueue(ctx, durable.Queue{
		Name: s.workQueue(), Concurrency: s.opt.Parallel, PerCustomer: min(s.opt.Share, s.opt.Parallel), Each: true, Bound: s.opt.Waiting,
		Rate: s.opt.Rate, RatePeriod: s.opt.RatePeriod,
	})
	if err == nil {
		err = e.Launch(ctx)
	}
	if err == nil {
		s.work.Go(s.forget)
		s.work.Go(s.endStranded)
	}
	return err
}

// workQueue names the queue of those servers that continue each other's calls.
func (s *Server) workQueue() string { return cmp.Or(s.opt.Engine.Group(), "calls") }

// inputOf describes the call of a request.
func (cs *customerServer) inputOf(ctx context.Context, t *tool, req *mcp.CallToolRequest, id string) *workInput {
	called, _ := ctx.Value(calledKey{}).(string)
	return &workInput{
		ID: id, Customer: cs.customer.ID, Tool: t.name, Called: called, Arguments: req.Params.Arguments, Session: sessionOf(req), Client: clientOf(req),
		Form: canAsk(req, false), Page: canAsk(req, true),
	}
}

// startCall starts the work of a call, in the queue if that is named.
func (s *Server) startCall(ctx context.Context, in *workInput, queue string) error {
	sealed, err := s.seal(workKey(workKind, in.Customer, in.ID), in)
	if err != nil {
		return err
	}
	start := durable.Start{ID: in.ID, Customer: in.Customer, Queue: queue}
	if queue != "" && in.Follower == "" {
		start.Priority = priorityTask
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	_, err = s.opt.Engine.Start(ctx, workKind, sealed, start)
	return err
}

// workKey names what is kept of a call.
func workKey(kind, customer, id string) store.Key {
	return store.Key{Customer: customer, Kind: kind, Name: id}
}

// seal encrypts a value, as JSON, so that it can only be read under this key.
func (s *Server) seal(key store.Key, value any) (json.RawMessage, error) {
	plain, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return json.Marshal(s.sealer.Seal(plain, seal.At(key)))
}

func (s *Server) unseal(key store.Key, kept []byte, value any) error {
	var sealed []byte
	err := json.Unmarshal(kept, &sealed)
	if err == nil {
		sealed, err = s.sealer.Open(sealed, seal.At(key))
	}
	if err == nil {
		err = json.Unmarshal(sealed, value)
	}
	return err
}

// doWork makes the call of a piece of work: one that this process has begun, or one that it takes from the queue or continues.
func (s *Server) doWork(w *durable.Work, kept json.RawMessage) (json.RawMessage, error) {
	in := &workInput{}
	if err := s.unseal(workKey(workKind, w.Customer, w.ID), kept, in); err != nil {
		s.log.Warn("a call of another process cannot be read: the processes that share the state need the same key", "id", w.ID, "error", err)
		return nil, fmt.Errorf("%w: %w", durable.ErrElsewhere, err)
	}
	var out json.RawMessage
	leave, err := s.placeFor(w)
	if err == nil {
		defer leave()
		out, err = durable.Step(w, "call", func(ctx context.Context) (json.RawMessage, error) { return s.doCall(ctx, w, in, leave) })
	}
	if err == nil || errors.Is(err, durable.ErrCancelled) {
		s.settled(w.Customer, w.ID)
	}
	return out, err
}

// placeFor takes a place for a piece of work, unless its call has one. Work of the queue that finds none here goes back, for another process,
// and the queue gives this one no more than it has places for.
func (s *Server) placeFor(w *durable.Work) (leave func(), err error) {
	ctx := w.Context()
	if here, ok := s.here.Load(w.ID); ok && here.(*longCall).turn == nil {
		return func() {}, nil
	}
	leave, ok := s.queue.Try(ctx, w.Customer, patience)
	switch {
	case ok:
	case w.Queue == "": // no queue could give it to another process
		leave, err = s.queue.Await(ctx, w.Customer)
	default:
		err = w.GiveBack()
		s.queue.Watch(ctx, w.Customer)
	}
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(leave), nil
}

// doCall makes the call of a piece of work, in the place that leave frees.
func (s *Server) doCall(ctx context.Context, w *durable.Work, in *workInput, leave func()) (json.RawMessage, error) {
	if !s.startWork() {
		return interrupted(ctx)
	}
	defer s.work.Done()
	defer s.here.Delete(in.ID)
	l, err := s.callOf(ctx, in, leave)
	if err != nil && (ctx.Err() != nil || errors.Is(err, errClosing)) {
		return interrupted(ctx)
	}
	out := &outcome{}
	switch {
	case err != nil:
		out.Error = s.notContinued(in, err)
	case l.turn != nil: // its client has got the result
		return nil, nil
	default:
		stop := context.AfterFunc(ctx, func() { l.cancel(endOf(ctx)) })
		defer stop()
		<-l.done
		if ctx.Err() != nil || errors.Is(context.Cause(l.ctx), errClosing) {
			return interrupted(ctx)
		}
		if out.Result, err = completeResult(l.result); l.err != nil || err != nil {
			out.Error = taskError(errors.Join(l.err, err))
		}
	}
	return s.seal(workKey(kindResult, w.Customer, w.ID), out)
}

func (s *Server) settled(customer, work string) {
	if s.opt.Settled != nil {
		ctx, cancel := bounded(s.ctx)
		defer cancel()
		s.opt.Settled(ctx, customer, work)
	}
}

// interrupted waits for the end of work that the engine is about to interrupt. Then no outcome is kept, and it continues in another process.
func interrupted(ctx context.Context) (json.RawMessage, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// endOf returns why work was interrupted, as the cause that cancels its call.
func endOf(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), durable.ErrCancelled) {
		return errTaskCancelled
	}
	return errClosing
}

// callOf returns the call of a piece of work, which runs then, in the place that leave frees. If its client waits in this process, it has ended.
func (s *Server) callOf(ctx context.Context, in *workInput, leave func()) (*longCall, error) {
	if here, ok := s.here.Load(in.ID); ok {
		l := here.(*longCall)
		if l.turn == nil { // it has run since before it was work
			l.detach()
			close(l.adopted)
			return l, nil
		}
		select {
		case l.turn <- leave:
			stop := context.AfterFunc(ctx, func() { l.cancel(endOf(ctx)) })
			defer stop()
			<-l.done
		case <-l.done:
		}
		return l, nil
	}
	cs, err := s.customer(in.Customer)
	if err != nil {
		return nil, err
	}
	c := &toolCall{cs: cs, tool: &tool{name: in.Tool, long: true}, args: in.Arguments, session: in.Session, client: in.Client}
	if in.Follower != "" {
		if alive, err := s.opt.Engine.Alive(ctx, in.Follower); err != nil || !alive {
			return nil, c.refused(ctx, errors.Join(errors.New("the process whose client waited for the result has ended, so the call is not made"), err))
		}
	}
	v, err := s.refresh(ctx)
	if err != nil {
		return nil, c.refused(ctx, fmt.Errorf("%s: %s", in.Tool, reasonOf(err)))
	}
	t := v.tool(in.Tool)
	if t == nil {
		return nil, c.refused(ctx, fmt.Errorf("the tool %q is not here any more", in.Tool))
	}
	before, err := cs.publishedOf(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if before.Begun >= maxBegun {
		return nil, fmt.Errorf("%d processes that ran it have died; its outcome is unknown", before.Begun)
	}
	return cs.continueCall(v, t, in, leave, before.Begun+1), nil
}

// tool returns the tool of a name, or nil.
func (v *view) tool(name string) *tool {
	if i, ok := v.place[name]; ok {
		return v.tools[i]
	}
	if name == otherToolName {
		return otherTool()
	}
	return nil
}

// continueCall makes a call without a request, for the nth time. It holds the place that leave frees.
func (cs *customerServer) continueCall(v *view, t *tool, in *workInput, leave func(), nth int) *longCall {
	ctx, cancel := context.WithCancelCause(context.WithValue(context.Background(), calledKey{}, in.Called))
	l := &longCall{
		tool: t.name, began: time.Now(), ctx: ctx, cancel: cancel, progress: progress.New(ctx, nil, cs.s.opt.Quiet, t.stage), input: in,
		questions: make(chan *pendingQuestion), done: make(chan struct{}),
	}
	c := &toolCall{
		cs: cs, view: v, tool: t, args: in.Arguments, progress: l.progress, session: in.Session, client: in.Client, canAsk: in.Form, work: in.ID, task: in.Follower == "", leave: leave,
		ask: func(ctx context.Context, q *upstream.Question) (*upstream.Reply, error) {
			if !in.Form && q.URL == "" || !in.Page && q.URL != "" {
				return decline(ctx, q)
			}
			return l.askByResult(ctx, cs.hideQuestion(q))
		},
	}
	task := cs.tasks.hold(l)
	task.begun = nth
	cs.publish(task)
	cs.s.work.Go(func() { cs.tasks.follow(task) })
	cs.s.work.Go(func() {
		defer close(l.done)
		defer cancel(nil)
		defer l.progress.Close()
		defer leave()
		l.result, l.err = cs.result(t.run(ctx, c))
	})
	return l
}

// forget removes what has expired, until the server is closed.
func (s *Server) forget() {
	tick := time.NewTicker(max(min(s.opt.KeepTask, forgetTime), 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.forgetNow(s.ctx); err != nil && s.ctx.Err() == nil {
			s.log.Warn("old tasks could not be removed", "error", err)
		}
	}
}

func (s *Server) forgetNow(ctx context.Context) error {
	if _, err := s.opt.Engine.Forget(ctx, time.Now().Add(-s.opt.KeepTask), workKind); err != nil {
		return err
	}
	// A call may last so long until it is work, or ends: it computes for MaxTime, and waits for an answer. What is left after that, and is not
	// work, is of a process that died. KeepTask is for clocks that differ, and other processes with another MaxTime.
	expired := time.Now().Add(-s.opt.MaxTime - s.opt.AnswerTime - s.opt.KeepTask)
	if s.opt.Sweep != nil {
		if err := s.opt.Sweep(ctx, expired, s.hasWork); err != nil {
			return err
		}
	}
	s.mu.Lock()
	var customers []string
	for id := range s.customers {
		customers = append(customers, id)
	}
	s.mu.Unlock()
	for _, id := range customers { // what processes that were killed left behind
		for _, kind := range []string{kindTask, kindTaskAnswer} {
			all, err := s.opt.State.ListDocuments(ctx, id, kind)
			if err != nil {
				return err
			}
			for _, d := range all {
				if d.Updated.After(expired) {
					continue
				}
				if err := s.opt.State.DeleteDocument(ctx, d.Key); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// hasWork reports whether there is work with an id, which may have ended.
func (s *Server) hasWork(ctx context.Context, id string) (bool, error) {
	_, err := s.opt.Engine.Get(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
