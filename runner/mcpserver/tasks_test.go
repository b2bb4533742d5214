package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
)

// wireTask is a result or error as it is on the wire.
type wireTask struct {
	ResultType, RequestState, TaskID, Status, StatusMessage, CreatedAt, LastUpdatedAt string
	TTLMs, PollIntervalMs                                                             int64
	InputRequests                                                                     map[string]struct {
		Method string
		Params struct{ Message string }
	}
	Result            json.RawMessage
	Error             *wireError
	Content           []struct{ Text string }
	StructuredContent json.RawMessage

	status  int
	refused *wireError
}

type wireError struct {
	Code    int
	Message string
	Data    json.RawMessage
}

// taskClient sends single requests of the stateless revision.
type taskClient struct {
	t          *testing.T
	url, token string
	caps       string // client capabilities
	name       string // of the header Mcp-Name, if it is not the usual one
}

const takesTasks = `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

func (c taskClient) send(ctx context.Context, method, params string) (*wireTask, error) {
	c.t.Helper()
	var named struct{ Name, TaskID string }
	if err := json.Unmarshal([]byte("{"+params+"}"), &named); err != nil {
		c.t.Fatalf("%s: %v", params, err)
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":%s}}}`, method, params, c.caps)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+mcpserver.Path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if c.name == "" {
		c.name = named.Name + named.TaskID
	}
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28",
		"Mcp-Method": method, "Mcp-Name": c.name, "Authorization": "Bearer " + c.token,
	} {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(resp.Body); err != nil {
		return nil, err
	}
	for line := range strings.Lines(text.String()) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "data: ")
		var m struct {
			ID     int
			Result json.RawMessage
			Error  *wireError
		}
		if json.Unmarshal([]byte(line), &m) != nil || m.ID == 0 {
			continue
		}
		out := &wireTask{status: resp.StatusCode, refused: m.Error}
		if m.Error == nil {
			if err := json.Unmarshal(m.Result, out); err != nil {
				c.t.Fatalf("%s: %v", m.Result, err)
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("no answer in %d %s", resp.StatusCode, text.String())
}

func (c taskClient) do(method, params string) *wireTask {
	c.t.Helper()
	out, err := c.send(c.t.Context(), method, params)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return out
}

func (c taskClient) run() *wireTask {
	c.t.Helper()
	return c.do("tools/call", `"name":"execute_code","arguments":{"code":"1"}`)
}

func (c taskClient) get(id string) *wireTask {
	c.t.Helper()
	return c.do("tasks/get", `"taskId":"`+id+`"`)
}

// until polls until the task has a status.
func (c taskClient) until(id string, status ...string) *wireTask {
	c.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		got := c.get(id)
		if got.refused != nil || slices.Contains(status, got.Status) {
			return got
		}
		if time.Now().After(end) {
			c.t.Fatalf("the task is %s %q, want %v", got.Status, got.StatusMessage, status)
		}
	}
}

// tasksFixture returns a server whose runs wait for release, and a client.
func tasksFixture(t *testing.T, set func(*mcpserver.Options)) (*fixture, taskClient, chan string) {
	w := newFixture(t)
	release := make(chan string)
	w.run = func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
		fmt.Fprintln(job.Stdout, "half done")
		select {
		case text := <-release:
			return &runner.Result{Cause: runner.CauseExit, Stdout: text}, nil
		case <-ctx.Done():
			return &runner.Result{Cause: runner.CauseInterrupted, ExitCode: 1}, nil
		}
	}
	w.opt.TaskAfter = time.Millisecond
	if set != nil {
		set(&w.opt)
	}
	w.srv = w.server()
	srv := w.web(w.srv, &mcpserver.HTTPOptions{Tokens: tokensOf(t)})
	return w, taskClient{t: t, url: srv.URL, token: tokenOfAda, caps: takesTasks}, release
}

// TestTask follows a call that becomes a task from its beginning to its result, which is that of a plain call.
func TestTask(t *testing.T) {
	_, c, release := tasksFixture(t, nil)
	made := c.run()
	if made.ResultType != "task" || len(made.TaskID) < 20 || made.Status != "working" || made.TTLMs < 3_600_000 || made.PollIntervalMs != 1000 || made.Result != nil {
		t.Fatalf("%+v, want a new task", made)
	}
	if _, err := time.Parse(time.RFC3339, made.CreatedAt); err != nil {
		t.Error(err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		got := c.get(made.TaskID)
		if got.ResultType != "complete" || got.Status != "working" || got.TaskID != made.TaskID || got.Result != nil {
			t.Fatalf("%+v, want a working task", got)
		}
		if strings.Contains(got.StatusMessage, "half done") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf(`the message is %q, want "half done" in it`, got.StatusMessage)
		}
	}
	release <- "all done"
	got := c.until(made.TaskID, "completed", "failed")
	plain := c
	plain.caps = "{}"
	direct := make(chan *wireTask, 1)
	go func() { direct <- plain.run() }()
	release <- "all done"
	if one := <-direct; one.ResultType != "complete" || one.TaskID != "" || len(one.Content) != 1 || one.Content[0].Text != "all done" {
		t.Errorf("without the extension: %+v, want the result", one)
	}
	var inlined struct {
		ResultType        string
		Content           []struct{ Text string }
		StructuredContent struct{ Output string }
	}
	if err := json.Unmarshal(got.Result, &inlined); err != nil || inlined.ResultType != "complete" || inlined.Content[0].Text != "all done" || inlined.StructuredContent.Output != "all done" {
		t.Errorf("%v %s, want the result of a plain call", err, got.Result)
	}
	if ack := c.do("tasks/cancel", `"taskId":"`+made.TaskID+`"`); ack.refused != nil || ack.ResultType != "complete" || ack.Status != "" {
		t.Errorf("tasks/cancel of an ended task: %+v, want an acknowledgement", ack)
	}
}

// TestFastCallIsNoTask checks that a call that ends soon is answered at once.
func TestFastCallIsNoTask(t *testing.T) {
	_, c, release := tasksFixture(t, func(o *mcpserver.Options) { o.TaskAfter = time.Hour })
	go func() { release <- "quick" }()
	if got := c.run(); got.ResultType != "complete" || got.Content[0].Text != "quick" {
		t.Errorf("%+v, want the result", got)
	}
}

// TestTaskOfAnother checks what requests about tasks are refused.
func TestTaskOfAnother(t *testing.T) {
	_, c, _ := tasksFixture(t, nil)
	id := `"taskId":"` + c.run().TaskID + `"`
	other, undeclared, misnamed := c, c, c
	other.token, undeclared.caps, misnamed.name = tokenOfBob, `{"extensions":{}}`, "another"
	for name, try := range map[string]struct {
		client taskClient
		id     string
		code   int
	}{
		"another customer":  {other, id, -32602},
		"an unknown id":     {c, `"taskId":"made up"`, -32602},
		"an endless id":     {c, `"taskId":"` + strings.Repeat("x", 2000) + `"`, -32602},
		"no extension":      {undeclared, id, -32021},
		"the wrong headers": {misnamed, id, -32020},
	} {
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			got := try.client.do(method, try.id+`,"inputResponses":{}`)
			if got.refused == nil || got.refused.Code != try.code || got.status != http.StatusBadRequest {
				t.Errorf("%s, %s: %d %+v, want the status 400 and the error %d", name, method, got.status, got.refused, try.code)
			}
			if try.code == -32021 && (got.refused == nil || !strings.Contains(string(got.refused.Data), `"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`)) {
				t.Errorf("%s: %+v, want the extension in its data", name, got.refused)
			}
		}
	}
	for _, gone := range []string{"tasks/list", "tasks/result"} {
		if got := c.do(gone, id); got.refused == nil || got.refused.Code != -32601 {
			t.Errorf("%s: %+v, want the error -32601", gone, got.refused)
		}
	}
}

// TestCancelTask checks that tasks/cancel ends the run.
func TestCancelTask(t *testing.T) {
	_, c, _ := tasksFixture(t, nil)
	made := c.run()
	if ack := c.do("tasks/cancel", `"taskId":"`+made.TaskID+`"`); ack.refused != nil {
		t.Fatalf("%+v", ack.refused)
	}
	if got := c.until(made.TaskID, "cancelled", "completed"); got.Status != "cancelled" || got.Result != nil || !strings.Contains(got.StatusMessage, "cancelled the task") {
		t.Errorf("%+v, want it cancelled", got)
	}
}

// TestTaskOutlivesConnection checks that a task goes on when the connection of its call is gone.
func TestTaskOutlivesConnection(t *testing.T) {
	_, c, release := tasksFixture(t, nil)
	ctx, hangUp := context.WithCancel(t.Context())
	made, err := c.send(ctx, "tools/call", `"name":"execute_code","arguments":{"code":"1"}`)
	if err != nil {
		t.Fatal(err)
	}
	hangUp()
	http.DefaultClient.CloseIdleConnections()
	release <- "still here"
	if got := c.until(made.TaskID, "completed", "cancelled"); !strings.Contains(string(got.Result), "still here") {
		t.Errorf("%+v, want the result", got)
	}
}

// TestQuestionsOfTask checks that the questions of a task reach clients that poll, and their answers the run: several at once, one answer
// at a time. An unusable answer brings the question again, with another key.
func TestQuestionsOfTask(t *testing.T) {
	w, c, _ := tasksFixture(t, nil)
	w.run = func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
		time.Sleep(20 * time.Millisecond) // so that it is a task by now
		answers := make([]string, 2)
		var asking sync.WaitGroup
		for i := range answers {
			asking.Go(func() {
				a, err := job.Ask(ctx, &upstream.Question{Server: "crm", Message: fmt.Sprint("Question ", i), Schema: json.RawMessage(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`)})
				if err != nil {
					t.Error(err)
					return
				}
				answers[i] = a.Action + string(a.Content)
			})
		}
		asking.Wait()
		return &runner.Result{Cause: runner.CauseExit, Stdout: strings.Join(answers, " ")}, nil
	}
	made := c.run()
	var keys [2]string
	seen := map[string]bool{}
	find := func() int {
		got := c.until(made.TaskID, "input_required", "completed", "failed")
		keys = [2]string{}
		for key, q := range got.InputRequests {
			var i int
			if _, err := fmt.Sscanf(q.Params.Message, "[crm] Question %d", &i); err != nil || q.Method != "elicitation/create" {
				t.Fatalf("%+v", q)
			}
			keys[i] = key
		}
		return len(got.InputRequests)
	}
	answer := func(key, response string) {
		t.Helper()
		if seen[key] {
			t.Errorf("the key %q was used twice", key)
		}
		seen[key] = true
		if ack := c.do("tasks/update", `"taskId":"`+made.TaskID+`","inputResponses":{"`+key+`":`+response+`,"unknown":{"ignored":true}}`); ack.refused != nil || ack.ResultType != "complete" || ack.Status != "" {
			t.Errorf("%+v, want an acknowledgement", ack)
		}
	}
	for find() < 2 {
		time.Sleep(5 * time.Millisecond)
	}
	second := keys[1]
	answer(keys[0], `{"action":"accept","content":{"n":"one"}}`)
	if find() != 2 || keys[1] != second {
		t.Errorf("the questions are %v, want both again, the second with the key %s", keys, second)
	}
	answer(keys[0], `{"action":"accept","content":{"n":1}}`)
	if find() != 1 || keys[1] != second {
		t.Errorf("the questions are %v, want the second", keys)
	}
	answer(keys[1], `{"action":"decline"}`)
	if got := c.until(made.TaskID, "completed", "failed"); !strings.Contains(string(got.Result), `accept{\"n\":1} decline`) {
		t.Errorf("%+v, want both answers", got)
	}
}

// TestTaskOfOwnClient checks that this project's client gets the result of a task, answers its question, and cancels one that it gives up.
func TestTaskOfOwnClient(t *testing.T) {
	w, c, _ := tasksFixture(t, nil)
	ended := make(chan error, 1)
	w.run = func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
		if job.Code == "endless" {
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return nil, ctx.Err()
		}
		time.Sleep(20 * time.Millisecond) // so that it is a task by now
		a, err := job.Ask(ctx, &upstream.Question{Server: "crm", Message: "?", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)})
		if err != nil {
			return nil, err
		}
		return &runner.Result{Cause: runner.CauseExit, Stdout: a.Action + string(a.Content)}, nil
	}
	at := config.Server{Key: "serve", Transport: config.TransportHTTP, URL: c.url + mcpserver.Path, Headers: map[string]string{"Authorization": "Bearer " + c.token}}
	s, err := upstream.Connect(t.Context(), at, &upstream.Options{Elicit: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	res, err := s.Call(t.Context(), "execute_code", json.RawMessage(`{"code":"1"}`), &upstream.CallOptions{Elicit: func(context.Context, *upstream.Question) (*upstream.Reply, error) {
		return &upstream.Reply{Action: upstream.ActionAccept, Content: json.RawMessage(`{"n":7}`)}, nil
	}})
	if err != nil || res.IsError || !strings.Contains(string(res.Structured), `accept{\"n\":7}`) {
		t.Errorf("%+v %v, want the result", res, err)
	}
	ctx, giveUp := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer giveUp()
	if _, err := s.Call(ctx, "execute_code", json.RawMessage(`{"code":"endless"}`), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want %v", err, context.DeadlineExceeded)
	}
	if cause := <-ended; !strings.Contains(cause.Error(), "cancelled the task") {
		t.Errorf("the run ended by %v, want the task's cancellation", cause)
	}
}

// TestQuestionBeforeTask checks that a question that comes at once is the result of the call, and that the call with the answer becomes the task.
func TestQuestionBeforeTask(t *testing.T) {
	w, c, release := tasksFixture(t, func(o *mcpserver.Options) { o.TaskAfter = 300 * time.Millisecond })
	w.run = func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
		a, err := job.Ask(ctx, &upstream.Question{Server: "crm", Message: "?", Schema: json.RawMessage(`{"type":"object","properties":{}}`)})
		if err != nil {
			return nil, err
		}
		return &runner.Result{Cause: runner.CauseExit, Stdout: a.Action + " " + <-release}, nil
	}
	const params = `"name":"execute_code","arguments":{"code":"1"}`
	asked := c.do("tools/call", params)
	if asked.ResultType != "input_required" || asked.RequestState == "" || asked.TaskID != "" {
		t.Fatalf("%+v, want a question", asked)
	}
	made := c.do("tools/call", params+`,"requestState":"`+asked.RequestState+`","inputResponses":{"answer":{"action":"accept","content":{}}}`)
	if made.ResultType != "task" {
		t.Fatalf("%+v, want a task", made)
	}
	release <- "done"
	if got := c.until(made.TaskID, "completed", "failed"); !strings.Contains(string(got.Result), "accept done") {
		t.Errorf("%+v, want the result", got)
	}
}

// TestTasksExpire checks that a result is kept for its time and no longer.
func TestTasksExpire(t *testing.T) {
	for name, set := range map[string]func(*mcpserver.Options){"in memory": func(*mcpserver.Options) {}, "in a state": newState(t).join(t)} {
		_, c, release := tasksFixture(t, func(o *mcpserver.Options) {
			o.KeepTask, o.MaxTime = 300*time.Millisecond, time.Nanosecond
			set(o)
		})
		made := c.run()
		release <- "x"
		if got := c.until(made.TaskID, "completed", "failed"); got.Status != "completed" {
			t.Errorf("%s: %+v, want it completed", name, got)
		}
		if got := c.until(made.TaskID, "never"); got.refused == nil || got.refused.Code != -32602 {
			t.Errorf("%s: %+v, want the error -32602", name, got)
		}
	}
}

// TestTooManyTasks checks that calls beyond the bound are answered when they end.
func TestTooManyTasks(t *testing.T) {
	_, c, release := tasksFixture(t, func(o *mcpserver.Options) { o.Parallel, o.Waiting, o.TaskAfter = 200, 200, 0 })
	results := make(chan *wireTask, 101)
	for range 101 {
		go func() { results <- c.run() }()
	}
	for i := range 100 {
		if got := <-results; got.ResultType != "task" {
			t.Fatalf("call %d: %+v, want a task", i, got)
		}
	}
	for range 101 {
		release <- "done"
	}
	if got := <-results; got.ResultType != "complete" || got.TaskID != "" {
		t.Errorf("%+v, want a result", got)
	}
}

// TestTasksOfOlderClients checks that the methods are refused to clients of sessions, also without parameters.
func TestTasksOfOlderClients(t *testing.T) {
	w := newFixture(t)
	srv := w.web(w.server(), &mcpserver.HTTPOptions{Customer: "acme"})
	_, header, _ := post(t, srv.URL, initialize, nil)
	session := map[string]string{"Mcp-Session-Id": header.Get("Mcp-Session-Id")}
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		for _, params := range []string{"", `,"params":{}`, `,"params":{"taskId":"x"}`} {
			if _, _, body := post(t, srv.URL, `{"jsonrpc":"2.0","id":2,"method":"`+method+`"`+params+`}`, session); !strings.Contains(body, `"code":-32021`) {
				t.Errorf("%s%s: %s, want the error -32021", method, params, body)
			}
		}
	}
}
