package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/upstream/internal/rawjson"
)

// A server of the newer era may answer a call with a task (extension io.modelcontextprotocol/tasks, SEP-2663): the call goes on, and its
// result is fetched by polling. The polling is part of the call here, whose context bounds it.

const (
	tasksExtension = "io.modelcontextprotocol/tasks"
	maxTaskID      = 1 << 10 // bytes
	// minPoll and maxPoll bound the pause between two polls that a server asks for. Servers that ask for nothing are polled every defaultPoll.
	minPoll     = 100 * time.Millisecond
	maxPoll     = 30 * time.Second
	defaultPoll = time.Second
	// taskGrace is how long a task may outlive the time that its server has given it.
	taskGrace = time.Minute
	// aliveTime is the pause after which a status without news is reported, which shows that the call is alive.
	aliveTime = 10 * time.Second
	// outageTime is how long a remote server may be away while a task is polled, as one is that restarts.
	outageTime = 2 * time.Minute
)

// The states of a task.
const (
	taskWorking       = "working"
	taskInputRequired = "input_required"
	taskCompleted     = "completed"
	taskFailed        = "failed"
	taskCancelled     = "cancelled"
)

// taskMethods are the methods of the extension.
var taskMethods = []string{methodGetTask, methodUpdateTask, methodCancelTask}

// addTasks registers the extension's requests.
func addTasks(client *mcp.Client) error {
	var errs []error
	for _, method := range taskMethods {
		errs = append(errs, mcp.AddSendingCustomMethod[*taskRequest, *taskAnswer](client, method))
	}
	return errors.Join(errs...)
}

// TaskError says how a task ended that has no result. A task that failed is a [ProtocolError] instead, with the error of the call.
type TaskError struct {
	// Server is the configured name.
	Server string
	// Reason is readable text, in part the server's: bounded, without secrets, hostile.
	Reason string
}

func (e *TaskError) Error() string { return fmt.Sprintf("server %q: %s", e.Server, e.Reason) }

// task is what a server says of a task.
type task struct {
	id       string
	status   string
	message  string
	poll     time.Duration
	ttl      time.Duration // 0: unlimited
	requests map[string]inputRequest
	result   json.RawMessage
	err      *jsonrpc.Error
}

// isTask reports whether the result of a call is a task.
func isTask(raw json.RawMessage) bool {
	fields, err := rawjson.Members(raw)
	return err == nil && string(fields["resultType"]) == `"task"`
}

// parseTask reads a task. id is the task that was asked for; empty for a new one.
func parseTask(raw json.RawMessage, id string) (*task, error) {
	fields, err := rawjson.Members(raw)
	if err != nil {
		return nil, errors.New("the task is not an object")
	}
	t := &task{poll: defaultPoll}
	switch err := json.Unmarshal(fields["taskId"], &t.id); {
	case err != nil || t.id == "":
		return nil, errors.New("the task has no taskId")
	case len(t.id) > maxTaskID:
		return nil, fmt.Errorf("the id of the task has %d bytes; at most %d", len(t.id), maxTaskID)
	case id != "" && t.id != id:
		return nil, fmt.Errorf("it answered for the task %q when asked for another", ident.Printable(t.id, 100))
	}
	_ = json.Unmarshal(fields["status"], &t.status)
	_ = json.Unmarshal(fields["statusMessage"], &t.message)
	t.message = ident.Printable(t.message, maxProgressText)
	t.poll = min(max(milliseconds(fields["pollIntervalMs"], defaultPoll), minPoll), maxPoll)
	t.ttl = max(milliseconds(fields["ttlMs"], 0), 0)
	switch t.status {
	case taskWorking, taskCancelled:
	case taskInputRequired:
		if r := fields["inputRequests"]; r != nil && json.Unmarshal(r, &t.requests) != nil {
			return nil, errors.New(`"inputRequests" of the task is not an object`)
		}
		if len(t.requests) > maxRequests {
			return nil, fmt.Errorf("the task asks for more than %d inputs at once", maxRequests)
		}
	case taskCompleted:
		t.result = fields["result"]
	case taskFailed:
		if json.Unmarshal(fields["error"], &t.err) != nil || t.err == nil {
			t.err = &jsonrpc.Error{Code: CodeBadAnswer, Message: "the task failed, and the server does not say why: " + t.message}
		}
	default:
		return nil, fmt.Errorf("the task has the unknown status %q", ident.Printable(t.status, 100))
	}
	return t, nil
}

// milliseconds reads a number of milliseconds; without one it returns other.
func milliseconds(raw json.RawMessage, other time.Duration) time.Duration {
	var n *float64
	if len(raw) == 0 || json.Unmarshal(raw, &n) != nil || n == nil {
		return other
	}
	const most = float64(1<<63-1) / 2 / float64(time.Millisecond)
	return time.Duration(min(max(*n, -most), most) * float64(time.Millisecond))
}

// taskRequest holds the parameters of a request about a task.
type taskRequest struct {
	mcp.ParamsBase
	TaskID string `json:"taskId"`
}

type taskAnswer struct{ mcp.ResultBase }

// awaitTask polls the task that a call became until it ends, answers its questions, and returns the call's result. If it is given up, the
// server is asked to cancel it.
func (s *Session) awaitTask(ctx, up context.Context, active *activeRequest, r request, raw json.RawMessage) (_ json.RawMessage, err error) {
	t, err := parseTask(raw, "")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.doing, s.errs.badAnswer("%v", err))
	}
	id, began, said, told := t.id, time.Now(), "", time.Now()
	answered := map[string]bool{}
	if t.status == taskCompleted { // its result is in the answer to tasks/get only
		t.status, t.poll = taskWorking, 0
	}
	defer func() {
		if err != nil && !errors.As(err, new(*taskEnded)) {
			s.cancelTask(id)
		}
	}()
	for {
		if t.message != "" && t.message != said || time.Since(told) > aliveTime {
			said, told = t.message, time.Now()
			s.inflight.tell(active.token, Progress{Message: said})
		}
		switch t.status {
		case taskCompleted:
			return s.taskResult(r, t)
		case taskFailed:
			return nil, &taskEnded{fmt.Errorf("%s: %w", r.doing, s.errs.protocol(t.err.Code, t.err.Message, t.err.Data))}
		case taskCancelled:
			return nil, &taskEnded{fmt.Errorf("%s: %w", r.doing, s.taskError("it cancelled the task of the call; whether the call took effect is unknown", t.message))}
		case taskInputRequired:
			if err := s.answerTask(ctx, up, active, r, t, answered); err != nil {
				return nil, err
			}
		}
		if t.ttl > 0 && time.Since(began) > t.ttl+taskGrace {
			return nil, fmt.Errorf("%s: %w", r.doing, s.taskError(fmt.Sprintf("the task of the call did not end within the %v that the server gave it; whether the call took effect is unknown", t.ttl), t.message))
		}
		if !pause(up, t.poll) {
			return nil, s.fail(ctx, &capture{sent: true}, r.doing, context.Cause(up))
		}
		if t, err = s.pollTask(ctx, up, active, r, id); err != nil {
			return nil, err
		}
	}
}

// taskEnded marks the errors of a task that has ended.
type taskEnded struct{ error }

func (e *taskEnded) Unwrap() error { return e.error }

func (s *Session) taskError(reason, message string) *TaskError {
	if message != "" {
		reason += fmt.Sprintf(" (it says %q)", message)
	}
	return &TaskError{Server: s.errs.server, Reason: s.errs.secret.Clean(reason)}
}

// taskResult returns the result of a task that is completed.
func (s *Session) taskResult(r request, t *task) (json.RawMessage, error) {
	err := errors.New("the task is completed, and has no result")
	if len(t.result) > 0 {
		var more *inputRequired
		if more, err = parseInput(t.result, r.member); err == nil && more == nil {
			return t.result, nil
		} else if err == nil {
			err = errors.New("the result of the completed task asks for input")
		}
	}
	return nil, &taskEnded{fmt.Errorf("%s: %w", r.doing, s.errs.badAnswer("%v", err))}
}

// pollTask asks for a task once. While a remote server cannot be reached, it tries again.
func (s *Session) pollTask(ctx, up context.Context, active *activeRequest, r request, id string) (*task, error) {
	for began, wait := time.Now(), minPoll; ; wait = min(2*wait, maxURLPause) {
		raw, err := s.taskRound(ctx, up, active, r, methodGetTask, id, nil)
		if err == nil {
			t, err := parseTask(raw, id)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.doing, s.errs.badAnswer("%v", err))
			}
			return t, nil
		}
		var gone *ConnectionError
		if s.http == nil || !errors.As(err, &gone) || gone.Login || s.Lost() || time.Since(began) > outageTime {
			return nil, err
		}
		s.log.Info("a task cannot be polled; trying again", "error", err)
		if !pause(up, wait) {
			return nil, s.fail(ctx, &capture{sent: true}, r.doing, context.Cause(up))
		}
	}
}

// taskRound sends one request about a task. The call was sent before, so no error says that it was not.
func (s *Session) taskRound(ctx, up context.Context, active *activeRequest, r request, method, id string, set map[string]json.RawMessage) (json.RawMessage, error) {
	about := request{doing: r.doing, opt: r.opt, task: id, send: func(ctx context.Context, meta mcp.Meta) error {
		delete(meta, metaProgressToken)
		_, err := mcp.CallCustomMethod[*taskRequest, *taskAnswer](ctx, s.sdk, method, &taskRequest{ParamsBase: mcp.ParamsBase{Meta: meta}, TaskID: id})
		return err
	}}
	raw, err := s.round(ctx, up, active, about, set)
	var gone *ConnectionError
	var refused *ProtocolError
	switch {
	case errors.As(err, &gone):
		gone.NotSent = false
		gone.Reason = "the call became a task, which cannot be polled; whether the call took effect is unknown: " + gone.Reason
	case errors.As(err, &refused) && refused.Code == jsonrpc.CodeInvalidParams:
		err = &taskEnded{fmt.Errorf("%s: %w", r.doing, s.taskError("it no longer knows the task of the call; whether the call took effect is unknown", refused.Message))}
	}
	return raw, err
}

// answerTask asks the questions of a task that were not asked before, and sends the answers.
func (s *Session) answerTask(ctx, up context.Context, active *activeRequest, r request, t *task, answered map[string]bool) error {
	maps.DeleteFunc(t.requests, func(key string, _ inputRequest) bool { return answered[key] })
	if len(t.requests) == 0 {
		return nil // the answers are on their way
	}
	if len(answered)+len(t.requests) > maxRounds*maxRequests {
		return fmt.Errorf("%s: %w", r.doing, s.errs.badAnswer("its task asked for more than %d inputs", maxRounds*maxRequests))
	}
	for _, key := range slices.Sorted(maps.Keys(t.requests)) {
		answered[key] = true
	}
	set, err := s.respond(up, active, &inputRequired{requests: t.requests})
	if err == nil {
		_, err = s.taskRound(ctx, up, active, r, methodUpdateTask, t.id, set)
	} else {
		err = fmt.Errorf("%s: %w", r.doing, err)
	}
	return err
}

// cancelTask asks the server to cancel a task that nobody waits for any more. It takes no longer than cancelTime.
func (s *Session) cancelTask(id string) {
	ctx, cancel := context.WithTimeout(s.conn.lost, cancelTime)
	defer cancel()
	active := s.inflight.begin(ctx, nil)
	defer s.inflight.end(active)
	if _, err := s.taskRound(ctx, ctx, active, request{doing: "cancel a task"}, methodCancelTask, id, nil); err != nil {
		s.log.Debug("a task could not be cancelled", "error", err)
	}
}
