package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/upstream"
)

const (
	// maxTasks bounds the tasks of one customer that are in progress, and without an engine those whose results are kept. maxKept bounds those
	// that one process has made lately. Further calls are answered when they end.
	maxTasks = 100
	maxKept  = 1000
	// maxTaskBytes bounds the results of a customer's tasks that are kept in memory.
	maxTaskBytes = 64 << 20
	maxTaskID    = 64 // bytes of an id, of which ours have 26
)

// errTaskCancelled is the cause with which tasks/cancel ends a task.
var errTaskCancelled = errors.New("the client cancelled the task")

// errEnded says that a call ended before it became a task.
var errEnded = errors.New("the call has ended")

// tasks are the tasks of one customer, by ids that nobody can guess. With an engine, those that run in this process are here, and the
// others are durable work. Without one, all are here.
type tasks struct {
	cs *customerServer

	mu    sync.Mutex
	byID  map[string]*task
	bytes int         // of results in byID
	made  []time.Time // with an engine: when tasks were made, lately
}

// task is a call that outlives its request. The client polls it.
type task struct {
	id         string
	call       *longCall
	answerTime time.Duration // for each question

	mu      sync.Mutex
	record  taskRecord
	pending []*taskQuestion // that wait for an answer
	asked   int             // how many questions there were
	run     string          // the end of their keys; another process that continues the call has another
	ended   bool            // record is final

	// What other processes know of it; only one goroutine at a time uses them.
	begun   int
	told    []byte
	version int64
}

// taskQuestion is a question of a task. A key is never used twice.
type taskQuestion struct {
	*pendingQuestion
	key     string
	timeout *time.Timer
}

// taskRecord is what is known of a task.
type taskRecord struct {
	Status, Message           string
	Created, Updated, Expires time.Time
	Error                     *jsonrpc.Error
	Result                    json.RawMessage
}

// begin makes a task of a call and returns it as the answer to the call. It returns nil if there can be no further task: then the client
// waits for the result.
func (ts *tasks) begin(ctx context.Context, l *longCall) *taskResult {
	if ts.cs.s.opt.Engine != nil && l.input == nil {
		return nil
	}
	if !ts.room() {
		ts.cs.logger().Warn("there are too many tasks; a call is answered when it ends")
		return nil
	}
	if !ts.cs.s.startWork() {
		return nil
	}
	t := ts.hold(l)
	if err := ts.adopt(ctx, t); err != nil {
		if !errors.Is(err, errEnded) {
			ts.cs.logger().Warn("a call does not become a task; it is answered when it ends", "error", err)
		}
		ts.drop(t)
		ts.cs.s.work.Done()
		return nil
	}
	ts.count()
	l.progress.Detach()
	go func() {
		defer ts.cs.s.work.Done()
		ts.follow(t)
	}()
	made := t.view()
	made.ResultType, made.InputRequests = "task", nil
	return made
}

// room reports whether there can be a further task.
func (ts *tasks) room() bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	now := time.Now()
	for _, t := range ts.byID {
		if t.expired(now) {
			ts.remove(t)
		}
	}
	ts.made = slices.DeleteFunc(ts.made, func(at time.Time) bool { return now.Sub(at) > ts.cs.s.opt.KeepTask })
	return len(ts.byID) < maxTasks && ts.bytes < maxTaskBytes && len(ts.made) < maxKept
}

// count counts a task whose result the state will keep.
func (ts *tasks) count() {
	if ts.cs.s.opt.Engine != nil {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		ts.made = append(ts.made, time.Now())
	}
}

// hold keeps a new task of a call that runs here.
func (ts *tasks) hold(l *longCall) *task {
	opt, now := &ts.cs.s.opt, time.Now()
	t := &task{id: rand.Text(), call: l, begun: 1, answerTime: opt.AnswerTime, record: taskRecord{
		Status: taskWorking, Created: l.began, Updated: now, Expires: now.Add(opt.MaxTime + opt.KeepTask),
	}}
	if l.input != nil {
		t.id, t.run, t.record.Created = l.input.ID, "-"+rand.Text()[:8], now // as of the work
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.byID == nil {
		ts.byID = map[string]*task{}
	}
	ts.byID[t.id] = t
	return t
}

// adopt makes durable work of a task whose call runs already.
func (ts *tasks) adopt(ctx context.Context, t *task) error {
	s := ts.cs.s
	if s.opt.Engine == nil {
		return nil
	}
	if !t.call.decided.CompareAndSwap(false, true) {
		return errEnded
	}
	s.here.Store(t.id, t.call)
	if err := s.startCall(ctx, t.call.input, ""); err != nil {
		t.call.decided.Store(false)
		s.here.Delete(t.id)
		return err
	}
	select {
	case <-t.call.adopted: // from now on it can be cancelled everywhere
	case <-time.After(adoptTime):
	}
	return nil
}

// drop forgets a task.
func (ts *tasks) drop(t *task) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.remove(t)
}

// remove is drop with the mutex held.
func (ts *tasks) remove(t *task) {
	if ts.byID[t.id] == t {
		ts.bytes -= len(t.record.Result)
		delete(ts.byID, t.id)
	}
}

// follow collects a task's questions until its call ends, and keeps the outcome. Work's outcome is kept by the engine.
func (ts *tasks) follow(t *task) {
	shared := ts.cs.s.opt.Engine != nil
	var look, tell <-chan time.Time
	if shared {
		looks, tells := time.NewTicker(pollTime), time.NewTicker(publishTime)
		defer looks.Stop()
		defer tells.Stop()
		look, tell = looks.C, tells.C
	}
	for open := true; open; {
		select {
		case q := <-t.call.questions:
			t.mu.Lock()
			t.ask(q)
			t.mu.Unlock()
			if shared {
				ts.cs.publish(t)
			}
		case <-look:
			ts.cs.takeAnswers(t)
		case <-tell:
			ts.cs.publish(t)
		case <-t.call.done:
			open = false
		}
	}
	t.end(ts.cs.s.opt.KeepTask)
	if shared {
		ts.drop(t)
		ts.cs.unpublish(t)
		return
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.bytes += len(t.record.Result)
}

// ask shows a question to clients that poll. The mutex is held.
func (t *task) ask(q *pendingQuestion) {
	t.asked++
	q.asked++
	one := &taskQuestion{pendingQuestion: q, key: "question-" + strconv.Itoa(t.asked) + t.run}
	one.timeout = time.AfterFunc(t.answerTime, func() { t.call.cancel(errNoAnswer) })
	t.pending = append(t.pending, one)
	t.set(taskInputRequired)
}

// set sets the status. The mutex is held.
func (t *task) set(status string) {
	if t.record.Status != status {
		t.record.Status, t.record.Updated = status, time.Now()
	}
}

// end notes the outcome of the call.
func (t *task) end(keep time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, q := range t.pending {
		q.timeout.Stop()
	}
	t.pending, t.ended = nil, true
	result, err := completeResult(t.call.result)
	out := &outcome{Result: result}
	if err = errors.Join(t.call.err, err); err != nil {
		out.Error = taskError(err)
	}
	t.record.Updated = time.Now()
	t.record.set(out, errors.Is(context.Cause(t.call.ctx), errTaskCancelled))
	t.record.Expires = t.record.Updated.Add(keep)
}

// set notes what came of the call.
func (r *taskRecord) set(out *outcome, cancelled bool) {
	switch {
	case cancelled:
		r.Status, r.Message = taskCancelled, errTaskCancelled.Error()+"; what took effect before stays"
	case out.Error != nil:
		r.Status, r.Error, r.Message = taskFailed, out.Error, out.Error.Message
	default:
		r.Status, r.Result = taskCompleted, out.Result
	}
}

// completeResult returns a result as the call would have returned it.
func completeResult(res *mcp.CallToolResult) (json.RawMessage, error) {
	if res == nil {
		return nil, nil
	}
	raw, err := json.Marshal(res)
	if err != nil {
		return nil, err
	}
	return append(json.RawMessage(`{"resultType":"complete",`), raw[1:]...), nil // it has at least the member content
}

func taskError(err error) *jsonrpc.Error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}

func (t *task) expired(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended && now.After(t.record.Expires)
}

// view returns the task as clients see it.
func (t *task) view() *taskResult {
	t.mu.Lock()
	defer t.mu.Unlock()
	res := t.record.view(t.id)
	if !t.ended {
		res.StatusMessage = t.call.progress.Status()
	}
	for _, q := range t.pending {
		if res.InputRequests == nil {
			res.InputRequests = mcp.InputRequestMap{}
		}
		res.InputRequests[q.key] = elicitParams(q.question.shown)
	}
	return res
}

func (r *taskRecord) view(id string) *taskResult {
	stamp := func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
	return &taskResult{
		ResultType: "complete", TaskID: id, Status: r.Status, StatusMessage: r.Message, CreatedAt: stamp(r.Created), LastUpdatedAt: stamp(r.Updated),
		TTLMs: r.Expires.Sub(r.Created).Milliseconds(), PollIntervalMs: pollInterval.Milliseconds(), Result: r.Result, Error: r.Error,
	}
}

// find returns a task of this process, or nil.
func (ts *tasks) find(id string) *task {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.byID[id]
	if t != nil && t.expired(time.Now()) {
		ts.remove(t)
		return nil
	}
	return t
}

// get returns a task.
func (ts *tasks) get(ctx context.Context, id string) (*taskResult, error) {
	if t := ts.find(id); t != nil {
		return t.view(), nil
	}
	st, err := ts.status(ctx, id)
	if err != nil {
		return nil, err
	}
	return ts.elsewhere(ctx, st)
}

// errNoTask is the answer to an id that is not, or no longer, that of a task of this customer.
var errNoTask = invalidParams("there is no such task: its id is wrong, or its time has passed")

// cancel ends a task. One that has ended stays as it is.
func (ts *tasks) cancel(ctx context.Context, id string) error {
	t := ts.find(id)
	if t == nil || ts.cs.s.opt.Engine != nil {
		if _, err := ts.status(ctx, id); err != nil {
			return err
		}
		if err := ts.cs.s.opt.Engine.Cancel(ctx, id); err != nil {
			return ts.unreadable(err)
		}
	}
	if t != nil {
		t.call.cancel(errTaskCancelled)
	}
	return nil
}

// update answers questions of a task. Answers to anything else are ignored. A question without a usable answer is asked again, a few times.
func (ts *tasks) update(ctx context.Context, id string, responses map[string]json.RawMessage) error {
	if t := ts.find(id); t != nil {
		t.answer(responses)
		return nil
	}
	st, err := ts.status(ctx, id)
	if err != nil || st.State.Ended() {
		return err
	}
	p, err := ts.cs.publishedOf(ctx, id)
	if err != nil {
		return ts.unreadable(err)
	}
	for _, q := range p.Questions {
		if raw, ok := responses[q.Key]; ok {
			if err := ts.cs.setAnswer(ctx, id, q.Key, raw); err != nil {
				return ts.unreadable(err)
			}
		}
	}
	return nil
}

// answer answers questions of a task of this process.
func (t *task) answer(responses map[string]json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	asked := t.pending
	t.pending = nil
	for _, q := range asked {
		raw, answered := responses[q.key]
		if !answered {
			t.pending = append(t.pending, q)
			continue
		}
		q.timeout.Stop()
		var res mcp.ElicitResult
		switch {
		case json.Unmarshal(raw, &res) == nil && q.question.isUsable(&res):
			q.answer <- q.question.answer(&res)
		case q.asked < maxAsked:
			t.ask(q.pendingQuestion) // with another key
		default:
			q.answer <- &upstream.Reply{Action: upstream.ActionCancel}
		}
	}
	if len(t.pending) == 0 && !t.ended {
		t.set(taskWorking)
	}
}
