package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/durable"
	"github.com/mcpgen/mcpgen/runner/store"
)

// State is where the processes that share it tell each other about calls, such as a [store.Store].
type State = store.Documents

// Documents about a call that runs, sealed. They are named after its work; an answer also has the key of its question.
const (
	kindTask       = "task"
	kindTaskAnswer = "task-answer"
)

const (
	// stateTime bounds one use of the state.
	stateTime = 10 * time.Second
	// pollTime is how often the process that runs a call looks for answers, and publishTime the least time between two of its messages.
	pollTime    = 250 * time.Millisecond
	publishTime = time.Second
)

// published is what the process that runs a call tells the others.
type published struct {
	Message   string              `json:"message"`
	Begun     int                 `json:"begun"` // how often the call has begun
	Questions []publishedQuestion `json:"questions,omitempty"`
}

// publishedQuestion is a question as clients see it.
type publishedQuestion struct {
	Key   string             `json:"key"`
	Shown *upstream.Question `json:"shown"`
}

// errUnknownOutcome is the error of work that ended with a call of which nobody knows whether it was made.
var errUnknownOutcome = &jsonrpc.Error{
	Code:    jsonrpc.CodeInternalError,
	Message: "its outcome is unknown: the process that ran it ended before the result was kept. Nothing is repeated; find out what took effect before making the call again",
}

// bounded returns the context for a use of the state, which the end of a request or of the server does not end.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), stateTime)
}

// publish tells other processes what a task does, if that has changed.
func (cs *customerServer) publish(t *task) {
	t.mu.Lock()
	p := published{Message: t.call.progress.Summary(), Begun: t.begun}
	for _, q := range t.pending {
		p.Questions = append(p.Questions, publishedQuestion{q.key, q.question.shown})
	}
	t.mu.Unlock()
	plain, err := json.Marshal(p)
	if err != nil || bytes.Equal(plain, t.told) {
		return
	}
	key := workKey(kindTask, cs.customer.ID, t.id)
	value, err := cs.s.seal(key, json.RawMessage(plain))
	if err == nil {
		ctx, cancel := bounded(cs.s.ctx)
		defer cancel()
		err = cs.overwrite(ctx, &store.Document{Key: key, Value: value, Version: t.version}, t)
	}
	if err != nil {
		cs.logger().Warn("other processes cannot see what a task does", "error", err)
		return
	}
	t.told = plain
}

// overwrite sets the document of a task, whatever a process that ran it before has left there.
func (cs *customerServer) overwrite(ctx context.Context, d *store.Document, t *task) (err error) {
	for range 3 {
		if t.version, err = cs.s.opt.State.SetDocument(ctx, d); !errors.Is(err, store.ErrConflict) {
			return err
		}
		old, err := cs.s.opt.State.Document(ctx, d.Key)
		if err != nil {
			return err
		}
		d.Version = old.Version
	}
	return err
}

// unpublish removes what was told about a task that has ended here.
func (cs *customerServer) unpublish(t *task) {
	ctx, cancel := bounded(cs.s.ctx)
	defer cancel()
	if err := cs.s.opt.State.DeleteDocument(ctx, workKey(kindTask, cs.customer.ID, t.id)); err != nil {
		cs.logger().Debug("a task's document could not be removed", "error", err)
	}
}

// publishedOf returns what the process that runs a call has told, with the questions that nobody has answered yet.
func (cs *customerServer) publishedOf(ctx context.Context, id string) (*published, error) {
	p := &published{}
	d, err := cs.s.opt.State.Document(ctx, workKey(kindTask, cs.customer.ID, id))
	if errors.Is(err, store.ErrNotFound) {
		return p, nil
	}
	if err == nil {
		err = cs.s.unseal(d.Key, d.Value, p)
	}
	if err != nil {
		return nil, err
	}
	var open []publishedQuestion
	for _, q := range p.Questions {
		_, err := cs.s.opt.State.Document(ctx, workKey(kindTaskAnswer, cs.customer.ID, id+"/"+q.Key))
		switch {
		case errors.Is(err, store.ErrNotFound):
			open = append(open, q)
		case err != nil:
			return nil, err
		}
	}
	p.Questions = open
	return p, nil
}

// setAnswer keeps the answer to a question of a call that runs in another process. The first answer counts.
func (cs *customerServer) setAnswer(ctx context.Context, id, key string, answer json.RawMessage) error {
	at := workKey(kindTaskAnswer, cs.customer.ID, id+"/"+key)
	value, err := cs.s.seal(at, answer)
	if err != nil {
		return err
	}
	_, err = cs.s.opt.State.SetDocument(ctx, &store.Document{Key: at, Value: value})
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}

// takeAnswers gives a task the answers that came to other processes.
func (cs *customerServer) takeAnswers(t *task) {
	t.mu.Lock()
	var keys []string
	for _, q := range t.pending {
		keys = append(keys, q.key)
	}
	t.mu.Unlock()
	ctx, cancel := bounded(cs.s.ctx)
	defer cancel()
	for _, key := range keys {
		at := workKey(kindTaskAnswer, cs.customer.ID, t.id+"/"+key)
		d, err := cs.s.opt.State.Document(ctx, at)
		if err != nil {
			continue
		}
		var raw json.RawMessage
		if err := cs.s.unseal(at, d.Value, &raw); err != nil {
			cs.logger().Warn("the answer to a question cannot be read", "error", err)
		}
		t.answer(map[string]json.RawMessage{key: raw})
		cs.publish(t) // the question is gone before its answer
		if err := cs.s.opt.State.DeleteDocument(ctx, at); err != nil {
			cs.logger().Debug("an answer could not be removed", "error", err)
		}
	}
}

// status returns the status of a task of this customer that is not in this process, or errNoTask.
func (ts *tasks) status(ctx context.Context, id string) (*durable.Status, error) {
	if ts.cs.s.opt.Engine == nil || len(id) > maxTaskID {
		return nil, errNoTask
	}
	st, err := ts.cs.s.opt.Engine.Get(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, errNoTask
	case err != nil:
		return nil, ts.unreadable(err)
	case st.Kind != workKind || st.Customer != ts.cs.customer.ID, st.State.Ended() && time.Since(st.Ended) > ts.cs.s.opt.KeepTask:
		return nil, errNoTask
	}
	return st, nil
}

// unreadable logs why a task cannot be read, and returns an error for the client.
func (ts *tasks) unreadable(err error) error {
	ts.cs.logger().Warn("a task could not be read", "error", err)
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the task cannot be read now; the server's log has the reason"}
}

// elsewhere returns a task that is not in this process, as clients see it.
func (ts *tasks) elsewhere(ctx context.Context, st *durable.Status) (*taskResult, error) {
	opt := &ts.cs.s.opt
	r := &taskRecord{Status: taskWorking, Created: st.Created, Updated: st.Created, Expires: time.Now().Add(opt.MaxTime + opt.KeepTask)}
	var open []publishedQuestion
	switch {
	case st.State.Ended():
		out := ts.cs.s.outcomeOf(st)
		r.Updated, r.Expires = st.Ended, st.Ended.Add(opt.KeepTask)
		r.set(out, st.State == durable.Cancelled)
	case st.State == durable.Queued:
		r.Message = turn(st.Position)
	default:
		p, err := ts.cs.publishedOf(ctx, st.ID)
		if err != nil {
			return nil, ts.unreadable(err)
		}
		if r.Message, open = p.Message, p.Questions; len(open) > 0 {
			r.Status = taskInputRequired
		}
		if st.Started.After(r.Updated) { // taken from the queue, or continued
			r.Updated = st.Started
		}
	}
	res := r.view(st.ID)
	for _, q := range open {
		if res.InputRequests == nil {
			res.InputRequests = mcp.InputRequestMap{}
		}
		res.InputRequests[q.Key] = elicitParams(q.Shown)
	}
	return res, nil
}

// outcomeOf returns what came of work that has ended.
func (s *Server) outcomeOf(st *durable.Status) *outcome {
	out := &outcome{}
	switch st.State {
	case durable.Done:
		if err := s.unseal(workKey(kindResult, st.Customer, st.ID), st.Result, out); err != nil {
			s.log.Warn("the result of a task cannot be read", "error", err)
			out.Error = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "its result cannot be read; the server's log has the reason"}
		}
	case durable.Unknown:
		out.Error = errUnknownOutcome
	case durable.Failed:
		out.Error = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: st.Error}
	}
	return out
}

// turn says where in the queue a call is.
func turn(position int) string {
	if position == 0 {
		return "waiting for a turn"
	}
	suffix := "th"
	if last := position % 10; last >= 1 && last <= 3 && position/10%10 != 1 {
		suffix = []string{"st", "nd", "rd"}[last-1]
	}
	return fmt.Sprintf("waiting for a turn: %d%s in the queue", position, suffix)
}
