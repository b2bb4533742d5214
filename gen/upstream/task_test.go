package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
)

// taskServer is a remote server whose only tool answers with the task "t1".
type taskServer struct {
	made string                                // the new task
	get  func(polls int, said []string) string // the answer to tasks/get, by the number of polls; said is what tasks/update was sent

	mu       sync.Mutex
	requests []string // methods and, for those about tasks, what they say
	polls    int
	said     []string
	calls    int
}

const newTask = `{"resultType":"task","taskId":"t1","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":60000,"pollIntervalMs":1}`

// taskAs returns an answer to tasks/get.
func taskAs(status, more string) string {
	return `{"resultType":"complete","taskId":"t1","status":"` + status + `","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":60000,"pollIntervalMs":1` + more + `}`
}

var doneTask = taskAs("completed", `,"result":{"content":[{"type":"text","text":"12345678901234567890"}],"structuredContent":{"n":12345678901234567890}}`)

func (s *taskServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			TaskID         string
			InputResponses json.RawMessage
			Meta           map[string]json.RawMessage `json:"_meta"`
		}
	}
	if json.Unmarshal(body, &m) != nil || m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	said := m.Method
	if strings.HasPrefix(m.Method, "tasks/") {
		said += " " + r.Header.Get("Mcp-Name") + "=" + m.Params.TaskID
		if !strings.Contains(string(m.Params.Meta["io.modelcontextprotocol/clientCapabilities"]), `"io.modelcontextprotocol/tasks"`) {
			said += " undeclared"
		}
	}
	s.requests = append(s.requests, said)
	result := ""
	switch m.Method {
	case "server/discover":
		result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"ttlMs":0,"cacheScope":"private"}`
	case "tools/list":
		result = `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"slow","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		s.calls++
		result = s.made
	case "tasks/get":
		s.polls++
		result = s.get(s.polls, s.said)
	case "tasks/update":
		s.said = append(s.said, string(m.Params.InputResponses))
		result = `{"resultType":"complete"}`
	case "tasks/cancel":
		result = `{"resultType":"complete"}`
	}
	w.Header().Set("Content-Type", "application/json")
	if strings.HasPrefix(result, "error ") {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, strings.TrimPrefix(result, "error "))
		return
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// sent returns how many requests were as given.
func (s *taskServer) sent(what string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if r == what {
			n++
		}
	}
	return n
}

func openTasks(t *testing.T, s *taskServer) *Session {
	t.Helper()
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return open(t, config.Server{Key: "fake", Transport: config.TransportHTTP, URL: srv.URL + "/mcp"}, asking())
}

// TestCallBecomesTask checks that a call's result comes from its task, byte for byte, with progress and questions on the way.
func TestCallBecomesTask(t *testing.T) {
	t.Parallel()
	const question = `,"inputRequests":{"q1":{"method":"elicitation/create","params":{"message":"sure?","requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean"}}}}}}`
	srv := &taskServer{made: newTask, get: func(polls int, said []string) string {
		switch {
		case polls == 1:
			return taskAs("working", `,"statusMessage":"half"`)
		case len(said) == 0 || polls < 5: // it repeats what was answered
			return taskAs("input_required", question)
		}
		return doneTask
	}}
	s := openTasks(t, srv)
	var messages []string
	asked := 0
	res, err := s.Call(testContext(t), "slow", nil, &CallOptions{
		Progress: func(p Progress) { messages = append(messages, p.Message) },
		Elicit: func(_ context.Context, q *Question) (*Reply, error) {
			asked++
			return &Reply{Action: ActionAccept, Content: json.RawMessage(`{"ok":true}`)}, nil
		},
	})
	if err != nil || string(res.Structured) != `{"n":12345678901234567890}` || len(res.Content) != 1 {
		t.Fatalf("%+v %v, want the result of the task", res, err)
	}
	if asked != 1 || len(srv.said) != 1 || srv.said[0] != `{"q1":{"action":"accept","content":{"ok":true}}}` {
		t.Errorf("asked %d times, answered %q, want once each", asked, srv.said)
	}
	if strings.Join(messages, "|") != "half" {
		t.Errorf(`progress %q, want "half"`, messages)
	}
	if srv.sent("tasks/get t1=t1") != 5 || srv.sent("tasks/update t1=t1") != 1 || srv.sent("tasks/cancel t1=t1") != 0 || srv.calls != 1 {
		t.Errorf("requests %q, want 5 polls and 1 update with the header Mcp-Name, and no cancellation", srv.requests)
	}
}

// TestQuestionsAtTheSameTime checks that nobody has to answer one question of a server to see the next.
func TestQuestionsAtTheSameTime(t *testing.T) {
	t.Parallel()
	const question = `{"method":"elicitation/create","params":{"message":"sure?","requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean"}}}}}`
	srv := &taskServer{made: newTask, get: func(_ int, said []string) string {
		if len(said) == 0 {
			return taskAs("input_required", `,"inputRequests":{"q1":`+question+`,"q2":`+question+`}`)
		}
		return doneTask
	}}
	var asked sync.WaitGroup
	asked.Add(2)
	_, err := openTasks(t, srv).Call(testContext(t), "slow", nil, &CallOptions{Elicit: func(context.Context, *Question) (*Reply, error) {
		asked.Done()
		asked.Wait() // for the other question
		return &Reply{Action: ActionAccept, Content: json.RawMessage(`{"ok":true}`)}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	const answer = `{"action":"accept","content":{"ok":true}}`
	if len(srv.said) != 1 || srv.said[0] != `{"q1":`+answer+`,"q2":`+answer+`}` {
		t.Errorf("answered %q, want both questions at once", srv.said)
	}
}

// TestTasksThatFail checks that each way in which a task goes wrong has a name, ends in time, and is no reason to repeat the call. A task
// that has not ended is cancelled.
func TestTasksThatFail(t *testing.T) {
	always := func(answer string) func(int, []string) string { return func(int, []string) string { return answer } }
	for name, c := range map[string]struct {
		made, want string
		get        func(int, []string) string
		code       int // of a ProtocolError
		ended      bool
	}{
		"failed":            {newTask, "no quota", always(taskAs("failed", `,"error":{"code":-32001,"message":"no quota"}`)), -32001, true},
		"failed in silence": {newTask, "does not say why", always(taskAs("failed", "")), 0, true},
		"cancelled":         {newTask, "it cancelled the task of the call; whether the call took effect is unknown (it says", always(taskAs("cancelled", `,"statusMessage":"out of time"`)), 0, true},
		"forgotten":         {newTask, "no longer knows the task", always(`error {"code":-32602,"message":"Task not found"}`), 0, true},
		"no result":         {newTask, "has no result", always(taskAs("completed", "")), 0, true},
		"a task as result":  {newTask, `of the type "task"`, always(taskAs("completed", `,"result":`+newTask)), 0, true},
		"another task":      {newTask, `it answered for the task "t2"`, always(strings.ReplaceAll(doneTask, "t1", "t2")), 0, false},
		"unknown status":    {newTask, `the unknown status "napping"`, always(taskAs("napping", "")), 0, false},
		"no task":           {newTask, "the task has no taskId", always(`{"resultType":"complete"}`), 0, false},
		"a list":            {newTask, "is not an object", always(`[]`), 0, false},
		"endless id":        {strings.Replace(newTask, "t1", strings.Repeat("x", 5<<20), 1), "at most 1024", always(doneTask), 0, true},
		"no id":             {strings.Replace(newTask, `"t1"`, `7`, 1), "the task has no taskId", always(doneTask), 0, true},
		"strange requests":  {newTask, "is not an object", always(taskAs("input_required", `,"inputRequests":[1]`)), 0, false},
		"sampling":          {newTask, `"sampling/createMessage"`, always(taskAs("input_required", `,"inputRequests":{"a":{"method":"sampling/createMessage","params":{}}}`)), -32601, false},
		"endless questions": {newTask, "asked for more than 160 inputs", func(polls int, _ []string) string {
			var all []string
			for i := range 16 {
				all = append(all, fmt.Sprintf(`"%d-%d":{"method":"elicitation/create","params":{"message":"x","requestedSchema":{"type":"object","properties":{}}}}`, polls, i))
			}
			return taskAs("input_required", `,"inputRequests":{`+strings.Join(all, ",")+`}`)
		}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := &taskServer{made: c.made, get: c.get}
			s := openTasks(t, srv)
			_, err := s.Call(testContext(t), "slow", nil, &CallOptions{Elicit: func(context.Context, *Question) (*Reply, error) { return &Reply{Action: ActionDecline}, nil }})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), `call "slow"`) {
				t.Fatalf("%v, want %q in it", err, c.want)
			}
			var refused *ProtocolError
			var other *TaskError
			if !errors.As(err, &other) && (!errors.As(err, &refused) || refused.Code != c.code) {
				t.Errorf("%#v, want a TaskError, or a ProtocolError of the code %d", err, c.code)
			}
			if n := srv.sent("tasks/cancel t1=t1"); n > 0 == c.ended {
				t.Errorf("%d cancellations, want one unless the task has ended", n)
			}
			if _, err := s.ListTools(testContext(t)); err != nil {
				t.Errorf("the session is lost: %v", err)
			}
		})
	}
}

// TestTaskIsBounded checks that a call whose task never ends is ended by its context, whatever pause the server wants, and that the task is
// cancelled.
func TestTaskIsBounded(t *testing.T) {
	for _, poll := range []string{"0", "-1", "1e300", "31536000000", `"soon"`, "null"} {
		t.Run(poll, func(t *testing.T) {
			t.Parallel()
			srv := &taskServer{made: strings.Replace(newTask, `"pollIntervalMs":1`, `"pollIntervalMs":`+poll, 1)}
			srv.get = func(int, []string) string { return taskAs("working", "") }
			s := openTasks(t, srv)
			ctx, cancel := context.WithTimeout(testContext(t), 300*time.Millisecond)
			defer cancel()
			start := time.Now()
			_, err := s.Call(ctx, "slow", nil, nil)
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 20*time.Second {
				t.Errorf("after %v: %v, want %v", time.Since(start), err, context.DeadlineExceeded)
			}
			if n := srv.sent("tasks/cancel t1=t1"); n != 1 {
				t.Errorf("%d cancellations, want 1: %q", n, srv.requests)
			}
			if n := srv.sent("tasks/get t1=t1"); n > 4 {
				t.Errorf("%d polls in 300 ms, want at most one each %v", n, minPoll)
			}
		})
	}
}

// TestTaskSurvivesRestart checks that a task is polled further when its server was away.
func TestTaskSurvivesRestart(t *testing.T) {
	t.Parallel()
	polled := make(chan struct{}, 1)
	var mu sync.Mutex
	restarted := false
	srv := &taskServer{made: newTask, get: func(int, []string) string {
		mu.Lock()
		defer mu.Unlock()
		if restarted {
			return doneTask
		}
		select {
		case polled <- struct{}{}:
		default:
		}
		return taskAs("working", "")
	}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	web := &http.Server{Handler: srv}
	go func() { _ = web.Serve(listener) }()
	pool := NewPool([]config.Server{{Key: "fake", Transport: config.TransportHTTP, URL: "http://" + address + "/mcp"}}, testOptions())
	t.Cleanup(func() { _ = pool.Close() })
	go func() {
		<-polled
		_ = web.Close()
		time.Sleep(300 * time.Millisecond)
		mu.Lock()
		restarted = true
		mu.Unlock()
		again, err := net.Listen("tcp", address)
		if err != nil {
			t.Error(err)
			return
		}
		web = &http.Server{Handler: srv}
		t.Cleanup(func() { _ = web.Close() })
		_ = web.Serve(again)
	}()
	res, err := pool.Call(testContext(t), "fake", "slow", nil, nil)
	if err != nil || string(res.Structured) != `{"n":12345678901234567890}` || srv.calls != 1 {
		t.Errorf("%+v %v, %d calls, want the result of the one call", res, err, srv.calls)
	}
}
