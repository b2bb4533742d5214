package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/upstream"
)

const (
	// maxTasks bounds the tasks of one customer that are in progress, and without a state those whose results are kept. Further calls are
	// answered when they end.
	maxTasks = 100
	// maxTaskBytes bounds the results of a customer's tasks that are kept in memory.
	maxTaskBytes = 64 << 20
	maxTaskID    = 64 // bytes of an id, of which ours have 26
)

// errTaskCancelled is the cause with which tasks/cancel ends a task.
var errTaskCancelled = errors.New("the client cancelled the task")

// tasks are the tasks of one customer, by ids that nobody can guess. Those in progress are in this process. What became of the others is in
// the records, or without a state in memory.
type tasks struct {
	cs      *customerServer
	records *taskRecords // nil: in memory

	mu    sync.Mutex
	byID  map[string]*task
	bytes int // of results in byID
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
	ended   bool            // record is final
}

// taskQuestion is a question of a task. A key is never used twice.
type taskQuestion struct {
	*pendingQuestion
	key     string
	timeout *time.Timer
}

// taskRecord is what is known of a task.
type taskRecord struct {
	Tool    string          `json:"tool"`
	Status  string          `json:"status"`
	Message string          `json:"message,omitempty"`
	Created time.Time       `json:"created"`
	Updated time.Time       `json:"updated"`
	Expires time.Time       `json:"expires"`
	Front   string          `json:"front"` // the process that runs it
	Error   *jsonrpc.Error  `json:"error,omitempty"`
	Result  json.RawMessage `json:"-"` // a record of its own, because it may be large
}

// final reports whether the record will not change any more.
func (r *taskRecord) final() bool { return r.Status != taskWorking && r.Status != taskInputRequired }

// begin makes a task of a call and returns it as the answer to the call. It returns nil if there can be no further task: then the client
// waits for the result.
func (ts *tasks) begin(ctx context.Context, l *longCall) *taskResult {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	now := time.Now()
	for id, t := range ts.byID {
		if t.expired(now) {
			ts.drop(id)
		}
	}
	if len(ts.byID) >= maxTasks || ts.bytes >= maxTaskBytes {
		ts.cs.logger().Warn("there are too many tasks; a call is answered when it ends")
		return nil
	}
	opt := &ts.cs.s.opt
	t := &task{id: rand.Text(), call: l, answerTime: opt.AnswerTime, record: taskRecord{
		Tool: l.tool, Status: taskWorking, Created: l.began, Updated: now, Expires: now.Add(opt.MaxTime + opt.KeepTask), Front: ts.cs.s.front.id,
	}}
	if ts.records != nil {
		if err := ts.records.add(ctx, t.id, &t.record); err != nil {
			ts.cs.logger().Warn("a call does not become a task; it is answered when it ends", "error", err)
			return nil
		}
	}
	if !ts.cs.s.startWork() {
		return nil
	}
	if ts.byID == nil {
		ts.byID = map[string]*task{}
	}
	ts.byID[t.id] = t
	l.progress.Detach()
	go ts.follow(t)
	made := t.view()
	made.ResultType, made.InputRequests = "task", nil
	return made
}

// drop forgets a task. The mutex is held.
func (ts *tasks) drop(id string) {
	if t := ts.byID[id]; t != nil {
		ts.bytes -= len(t.record.Result)
		delete(ts.byID, id)
	}
}

// follow collects a task's questions until its call ends, and keeps the outcome.
func (ts *tasks) follow(t *task) {
	defer ts.cs.s.work.Done()
	for open := true; open; {
		select {
		case q := <-t.call.questions:
			t.mu.Lock()
			t.ask(q)
			t.mu.Unlock()
		case <-t.call.done:
			open = false
		}
	}
	t.end(ts.cs.s.opt.KeepTask)
	var err error
	if ts.records != nil {
		if err = ts.records.end(ts.cs.s.ctx, t.id, &t.record); err != nil {
			ts.cs.logger().Warn("the outcome of a task could not be kept; it is in memory until this process ends", "error", err)
		}
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.bytes += len(t.record.Result)
	if ts.records != nil && err == nil {
		ts.drop(t.id)
	}
}

// ask shows a question to clients that poll. The mutex is held.
func (t *task) ask(q *pendingQuestion) {
	t.asked++
	q.asked++
	one := &taskQuestion{pendingQuestion: q, key: fmt.Sprintf("question-%d", t.asked)}
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
	r := &t.record
	result, err := completeResult(t.call.result)
	err = errors.Join(t.call.err, err)
	switch {
	case errors.Is(context.Cause(t.call.ctx), errTaskCancelled):
		t.set(taskCancelled)
		r.Message = errTaskCancelled.Error() + "; what took effect before stays"
	case err != nil:
		t.set(taskFailed)
		r.Error, r.Message = taskError(err), err.Error()
	default:
		t.set(taskCompleted)
		r.Result = result
	}
	r.Expires = r.Updated.Add(keep)
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
		ts.drop(id)
		return nil
	}
	return t
}

// get returns a task.
func (ts *tasks) get(ctx context.Context, id string) (*taskResult, error) {
	if t := ts.find(id); t != nil {
		return t.view(), nil
	}
	r, err := ts.recorded(ctx, id)
	if err != nil {
		return nil, err
	}
	return r.view(id), nil
}

// recorded returns the record of a task that is not in this process.
func (ts *tasks) recorded(ctx context.Context, id string) (*taskRecord, error) {
	if ts.records == nil || len(id) > maxTaskID {
		return nil, errNoTask
	}
	r, err := ts.records.get(ctx, id)
	if err != nil && !errors.Is(err, errNoTask) {
		ts.cs.logger().Warn("a task could not be read", "error", err)
		err = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the task cannot be read now; the server's log has the reason"}
	}
	return r, err
}

// errNoTask is the answer to an id that is not, or no longer, that of a task of this customer.
var errNoTask = invalidParams("there is no such task: its id is wrong, or its time has passed")

// cancel ends a task. One that has ended stays as it is.
func (ts *tasks) cancel(ctx context.Context, id string) error {
	t := ts.find(id)
	if t == nil {
		return ts.elsewhere(ctx, id)
	}
	t.call.cancel(errTaskCancelled)
	return nil
}

// update answers questions of a task. Answers to anything else are ignored. A question without a usable answer is asked again, a few times.
func (ts *tasks) update(ctx context.Context, id string, responses map[string]json.RawMessage) error {
	t := ts.find(id)
	if t == nil {
		return ts.elsewhere(ctx, id)
	}
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
	return nil
}

// elsewhere returns the error of a request about a task that is not in this process; nil if it has ended, so that there is nothing to do.
func (ts *tasks) elsewhere(ctx context.Context, id string) error {
	r, err := ts.recorded(ctx, id)
	if err == nil && !r.final() {
		err = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the task runs in another process of this server; have requests reach the process that answered the call, for example by their header Mcp-Name"}
	}
	return err
}
