package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/durable"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
	"github.com/mcpgen/mcpgen/runner/mcpserver/bearer"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/postgres"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

// frontVariable makes the test binary a front, a process that serves one customer, with the state at that place.
const frontVariable = "MCPSERVER_FRONT"

// frontMain is called first in TestMain.
func frontMain() {
	if place := os.Getenv(frontVariable); place != "" {
		fmt.Fprintln(os.Stderr, serveFront(place))
		os.Exit(1)
	}
}

// serveFront serves calls, one at a time, which do not end. It prints its address, and a line when a call runs.
func serveFront(place string) error {
	s, err := openState(context.Background(), place)
	if err != nil {
		return err
	}
	engine, err := durable.Open(context.Background(), durable.Options{State: place, Store: s, Lease: frontLease})
	if err != nil {
		return err
	}
	server, err := mcpserver.New(&mcpserver.Options{
		Engine: engine, State: s, Secret: testSecret, TaskAfter: time.Millisecond, Parallel: 1,
		Customer: func(_ context.Context, id string) (*mcpserver.Customer, error) {
			return &mcpserver.Customer{ID: id}, nil
		},
		Run: func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
			fmt.Println("runs " + job.Work)
			<-ctx.Done()
			return nil, ctx.Err()
		},
	})
	if err != nil {
		return err
	}
	tokens, err := bearer.Read([]byte(twoTokens), "")
	if err != nil {
		return err
	}
	h, err := server.Handler(&mcpserver.HTTPOptions{Tokens: tokens})
	if err != nil {
		return err
	}
	fmt.Println(httptest.NewServer(h).URL)
	select {}
}

// frontLease is how long a killed front counts as alive.
const frontLease = 2 * time.Second

func openState(ctx context.Context, place string) (store.Store, error) {
	if strings.HasPrefix(place, "postgres") {
		return postgres.Open(ctx, place)
	}
	return sqlite.Open(ctx, place, sqlite.Options{})
}

var testSecret = make([]byte, 32)

// sharedState is a state that several fronts share.
type sharedState struct {
	place string
	store store.Store
}

func newState(t *testing.T) *sharedState {
	t.Helper()
	return stateAt(t, filepath.Join(t.TempDir(), "state.db"))
}

func stateAt(t *testing.T, place string) *sharedState {
	t.Helper()
	s, err := openState(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &sharedState{place, s}
}

// eachState runs a test with both kinds of states.
func eachState(t *testing.T, test func(t *testing.T, s *sharedState)) {
	t.Run("sqlite", func(t *testing.T) { test(t, newState(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, stateAt(t, pgtest.Database(t))) })
}

// join returns a function that gives a server an engine on the state.
func (s *sharedState) join(t *testing.T) func(*mcpserver.Options) {
	return func(o *mcpserver.Options) {
		e, err := durable.Open(t.Context(), durable.Options{State: s.place, Store: s.store, Lease: frontLease})
		if err != nil {
			t.Fatal(err)
		}
		o.Engine, o.State, o.Secret = e, s.store, testSecret
	}
}

// one gives a server one place, and an engine on the state.
func (s *sharedState) one(t *testing.T) func(*mcpserver.Options) {
	return func(o *mcpserver.Options) {
		o.Parallel = 1
		s.join(t)(o)
	}
}

// child is a front in a process of its own.
type child struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	url   string
	early []string // what it said before its address
}

func (s *sharedState) child(t *testing.T) *child {
	t.Helper()
	c := &child{cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), frontVariable+"="+s.place)
	var stderr bytes.Buffer
	c.cmd.Stderr = &stderr
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	c.lines = bufio.NewScanner(out)
	for !strings.HasPrefix(c.url, "http") {
		if !c.lines.Scan() {
			c.kill()
			t.Fatalf("the front ended: %s", &stderr)
		}
		if c.url = c.lines.Text(); !strings.HasPrefix(c.url, "http") { // it continues a call already
			c.early = append(c.early, c.url)
		}
	}
	return c
}

func (c *child) line() string {
	if len(c.early) > 0 {
		line := c.early[0]
		c.early = c.early[1:]
		return line
	}
	c.lines.Scan()
	return c.lines.Text()
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// TestTasksSurviveKill kills the front that runs a task, and has another one waiting in its queue. Another front finishes both.
func TestTasksSurviveKill(t *testing.T) {
	eachState(t, func(t *testing.T, s *sharedState) {
		front := s.child(t)
		first := taskClient{t: t, url: front.url, token: tokenOfAda, caps: takesTasks}
		running := first.run()
		if got := front.line(); got != "runs "+running.TaskID {
			t.Fatalf("the front says %q, want that it runs %s", got, running.TaskID)
		}
		queued := first.do("tools/call", `"name":"execute_code","arguments":{"code":"second","language":"python"}`)
		if queued.ResultType != "task" || queued.TaskID == running.TaskID {
			t.Fatalf("%+v, want another task", queued)
		}
		front.kill()
		w, second, release := tasksFixture(t, s.join(t))
		for i := range 2 {
			release <- fmt.Sprint("done ", i)
		}
		for _, id := range []string{running.TaskID, queued.TaskID} {
			if got := second.until(id, "completed", "failed", "cancelled"); !strings.Contains(string(got.Result), "done ") {
				t.Errorf("%+v, want the result", got)
			}
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		codes := map[string]string{}
		for _, job := range w.jobs {
			codes[job.Work] = job.Language + " " + job.Code + " " + job.Client.Name + " " + job.Customer.ID
		}
		if len(w.jobs) != 2 || codes[running.TaskID] != "typescript 1 t ada" || codes[queued.TaskID] != "python second t ada" {
			t.Errorf("the other front ran %v, want each call once as it was asked for", codes)
		}
	})
}

// TestTaskOutlivesServer checks that two servers know of each other's tasks, and other customers of none.
func TestTaskOutlivesServer(t *testing.T) {
	s := newState(t)
	_, first, release := tasksFixture(t, s.join(t))
	_, second, _ := tasksFixture(t, s.join(t))
	made := first.run()
	waitFor(t, func() bool { return strings.Contains(second.get(made.TaskID).StatusMessage, "half done") })
	stranger := second
	stranger.token = tokenOfBob
	for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
		if got := stranger.do(method, `"taskId":"`+made.TaskID+`","inputResponses":{}`); got.refused == nil || got.refused.Code != -32602 {
			t.Errorf("%s of another customer: %+v, want the error -32602", method, got)
		}
	}
	release <- "kept"
	for _, c := range []taskClient{first, second} {
		if got := c.until(made.TaskID, "completed", "failed"); !strings.Contains(string(got.Result), `"resultType":"complete"`) || !strings.Contains(string(got.Result), "kept") {
			t.Errorf("%+v, want the result", got)
		}
	}
}

// TestSweep checks that what is left of calls is swept again and again, by a time at which none of them could be going on, and that work is known
// in each process until it is forgotten.
func TestSweep(t *testing.T) {
	eachState(t, func(t *testing.T, s *sharedState) {
		type sweep struct {
			since          time.Time
			work, orphaned bool
		}
		made, swept := make(chan string, 1), make(chan sweep, 1)
		sweeps := func(ctx context.Context, since time.Time, known func(context.Context, string) (bool, error)) error {
			select {
			case id := <-made:
				work, err := known(ctx, id)
				orphaned, failed := known(ctx, "orphan")
				made <- id
				select {
				case swept <- sweep{since, work, !orphaned}:
				case <-ctx.Done():
				}
				return errors.Join(err, failed)
			default:
				return nil
			}
		}
		_, first, release := tasksFixture(t, s.join(t))
		tasksFixture(t, func(o *mcpserver.Options) {
			o.Sweep, o.KeepTask, o.MaxTime, o.AnswerTime = sweeps, 300*time.Millisecond, time.Minute, time.Hour
			s.join(t)(o)
		})
		running := first.run()
		made <- running.TaskID
		for range 2 {
			began := time.Now()
			if got := <-swept; !got.work || !got.orphaned || got.since.After(began.Add(-time.Hour)) {
				t.Errorf("%+v, want work, an orphan, and a time more than an hour ago", got)
			}
		}
		release <- "done"
		for end := time.Now().Add(20 * time.Second); ; {
			if got := <-swept; !got.work { // it has ended, and was forgotten
				break
			}
			if time.Now().After(end) {
				t.Fatal("work that has ended is known forever")
			}
		}
	})
}

// TestCancelElsewhere checks that another server cancels a task that runs, and one that waits.
func TestCancelElsewhere(t *testing.T) {
	s := newState(t)
	w, first, _ := tasksFixture(t, s.one(t))
	_, second, _ := tasksFixture(t, s.one(t))
	ended := make(chan error, 1)
	w.run = func(ctx context.Context, _ *mcpserver.Job) (*runner.Result, error) {
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, ctx.Err()
	}
	made, waiting := first.run(), first.run()
	for _, id := range []string{waiting.TaskID, made.TaskID} {
		if ack := second.do("tasks/cancel", `"taskId":"`+id+`"`); ack.refused != nil {
			t.Fatalf("%+v", ack.refused)
		}
	}
	if got := second.until(waiting.TaskID, "cancelled", "completed", "failed"); got.Status != "cancelled" {
		t.Errorf("%+v, want it cancelled", got)
	}
	if cause := <-ended; !strings.Contains(cause.Error(), "cancelled the task") {
		t.Errorf("the run ended by %v, want the task's cancellation", cause)
	}
	for _, c := range []taskClient{first, second} {
		if got := c.until(made.TaskID, "cancelled", "completed", "failed"); got.Status != "cancelled" || !strings.Contains(got.StatusMessage, "cancelled the task") {
			t.Errorf("%+v, want it cancelled", got)
		}
	}
}

// TestQuestionElsewhere checks that a question of a task can be answered at another server, once, and that an unusable answer brings it again.
func TestQuestionElsewhere(t *testing.T) {
	eachState(t, func(t *testing.T, s *sharedState) {
		w, first, _ := tasksFixture(t, s.join(t))
		_, second, _ := tasksFixture(t, s.join(t))
		w.run = func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
			time.Sleep(20 * time.Millisecond) // so that it is a task by now
			a, err := job.Ask(ctx, &upstream.Question{Server: "crm", Message: "How many?", Schema: json.RawMessage(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`)})
			if err != nil {
				return nil, err
			}
			return &runner.Result{Cause: runner.CauseExit, Stdout: a.Action + string(a.Content)}, nil
		}
		made := first.run()
		ask := func() (key string) {
			got := second.until(made.TaskID, "input_required", "completed", "failed")
			for k, q := range got.InputRequests {
				if key = k; q.Params.Message != "[crm] How many?" {
					t.Errorf("the question is %q", q.Params.Message)
				}
			}
			if key == "" {
				t.Fatalf("%+v, want a question", got)
			}
			return key
		}
		answer := func(c taskClient, key, n string) {
			if ack := c.do("tasks/update", `"taskId":"`+made.TaskID+`","inputResponses":{"`+key+`":{"action":"accept","content":{"n":`+n+`}}}`); ack.refused != nil {
				t.Errorf("%+v, want an acknowledgement", ack.refused)
			}
		}
		key := ask()
		answer(second, key, `"many"`)
		again := ask()
		if again == key {
			t.Errorf("the key %q came twice", key)
		}
		answer(second, again, "7")
		answer(second, again, "8")
		if got := second.until(made.TaskID, "completed", "failed"); !strings.Contains(string(got.Result), `accept{\"n\":7}`) {
			t.Errorf("%s %+v, want the first answer", got.Result, got)
		}
	})
}

// fill adds a task to those of direct calls that have all the places of a customer. It waits in the queue, to which the server has given it back.
func (c taskClient) fill(ids ...string) []string {
	c.t.Helper()
	next := c.run().TaskID
	waiting := func() bool { return strings.Contains(c.get(next).StatusMessage, "queue") }
	waitFor(c.t, func() bool { return !waiting() })
	waitFor(c.t, waiting)
	return append(ids, next)
}

// jam adds tasks until there is no room for one, and returns the answer to that too.
func (c taskClient) jam(ids []string) (all []string, busy *wireTask) {
	c.t.Helper()
	for range 10 {
		made := c.run()
		if made.ResultType != "task" {
			return ids, made
		}
		ids = append(ids, made.TaskID)
	}
	c.t.Fatal("there is always room")
	return nil, nil
}

// TestPosition checks that tasks without room wait in the order of the queue, that clients see their places, and that beyond the bound the
// answer is busy.
func TestPosition(t *testing.T) {
	s := newState(t)
	_, c, release := tasksFixture(t, func(o *mcpserver.Options) { o.Waiting = 3; s.one(t)(o) })
	ids, busy := c.jam(c.fill(c.run().TaskID))
	if len(ids) != 4 {
		t.Fatalf("%d tasks, want one that runs and three that wait", len(ids))
	}
	for i, place := range []string{"1st", "2nd", "3rd"} {
		if got := c.get(ids[i+1]); got.Status != "working" || got.StatusMessage != "waiting for a turn: "+place+" in the queue" {
			t.Errorf("%+v, want it to be %s", got, place)
		}
	}
	var said struct {
		Busy  bool    `json:"busy"`
		Retry float64 `json:"retry_after_seconds"`
	}
	text := fmt.Sprint(busy.Content)
	if err := json.Unmarshal(busy.StructuredContent, &said); err != nil || !said.Busy || said.Retry < 1 || !strings.Contains(text, fmt.Sprintf("the server is busy: 3 calls wait already. Nothing was run; try again in %v s.", said.Retry)) {
		t.Errorf("%s %+v, want busy", busy.StructuredContent, busy)
	}
	for i, id := range ids {
		release <- fmt.Sprint("number ", i)
		if got := c.until(id, "completed", "failed"); !strings.Contains(string(got.Result), fmt.Sprint("number ", i)) {
			t.Errorf("%+v, want the result %d", got, i)
		}
	}
}

// TestRoomForOthers checks that a customer has the places that another one cannot take, whatever waits.
func TestRoomForOthers(t *testing.T) {
	eachState(t, func(t *testing.T, s *sharedState) {
		_, ada, release := tasksFixture(t, func(o *mcpserver.Options) {
			o.Parallel, o.Share, o.Waiting = 3, 2, 2
			s.join(t)(o)
		})
		ids, busy := ada.jam(ada.fill(ada.run().TaskID, ada.run().TaskID))
		if !strings.Contains(string(busy.StructuredContent), `"busy":true`) {
			t.Errorf("%+v, want busy", busy)
		}
		bob := ada
		bob.token = tokenOfBob
		for i := range 3 {
			made := bob.run()
			waitFor(t, func() bool { return strings.Contains(bob.get(made.TaskID).StatusMessage, "half done") })
			if bob.do("tasks/cancel", `"taskId":"`+made.TaskID+`"`).refused != nil {
				t.Errorf("task %d was not cancelled", i)
			}
		}
		close(release)
		for _, id := range ids {
			if got := ada.until(id, "completed", "failed"); got.Status != "completed" {
				t.Errorf("%+v, want it completed", got)
			}
		}
	})
}

// TestIdleServer checks that a server without calls makes those of the queue while the places of another one are taken by calls that came to it
// directly, and that others know when such a call was last updated.
func TestIdleServer(t *testing.T) {
	eachState(t, func(t *testing.T, s *sharedState) {
		_, c, release := tasksFixture(t, s.one(t))
		ids := c.fill(c.run().TaskID)
		_, idle, other := tasksFixture(t, s.join(t))
		close(other)
		ids = append(ids, c.run().TaskID, c.run().TaskID)
		for _, id := range ids[1:] {
			if got := c.until(id, "completed", "failed"); got.Status != "completed" {
				t.Errorf("%+v, want it completed", got)
			}
		}
		got := idle.get(ids[0])
		if updated, err := time.Parse(time.RFC3339, got.LastUpdatedAt); got.Status != "working" || err != nil || time.Since(updated) > time.Minute {
			t.Errorf("%+v, %v; want it working, with the time of its last change", got, err)
		}
		close(release)
	})
}

// TestQueueTime checks that a call whose client waits is given up in time, although this server had taken it from the queue.
func TestQueueTime(t *testing.T) {
	s := newState(t)
	w, c, _ := tasksFixture(t, func(o *mcpserver.Options) { o.MaxWait = 2 * time.Second; s.one(t)(o) })
	running := c.run()
	c.caps = "{}"
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	began := time.Now()
	got, err := c.send(ctx, "tools/call", `"name":"execute_code","arguments":{"code":"1"}`)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 2*time.Second || !strings.Contains(fmt.Sprint(got.Content), "no place became free for 2s. Nothing was run; try again in 2 s.") {
		t.Errorf("%+v after %v, want busy after two seconds", got, took)
	}
	c.caps = takesTasks
	c.do("tasks/cancel", `"taskId":"`+running.TaskID+`"`)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.jobs) != 1 {
		t.Errorf("%d calls were made, want one", len(w.jobs))
	}
}

// TestWaitingCall checks that calls of clients without tasks wait in the queue too, hear of their places, and end with their client's request.
func TestWaitingCall(t *testing.T) {
	for _, revision := range revisions {
		s := newState(t)
		w, c, release := tasksFixture(t, s.one(t))
		ids := c.fill(c.run().TaskID)
		places := make(chan string, 100)
		session := w.stdio(w.srv, revision, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			places <- r.Params.Message
		}})
		send := func(ctx context.Context, code string) (*mcp.CallToolResult, error) {
			params := &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": code}}
			params.SetProgressToken("p")
			return session.CallTool(ctx, params)
		}
		ctx, giveUp := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() { _, err := send(ctx, "gone"); gone <- err }()
		if got := <-places; got != "waiting for a turn: 1st in the queue" { // before the task
			t.Errorf("%s: the client hears %q, want its place", revision, got)
		}
		giveUp()
		<-gone
		done := make(chan *mcp.CallToolResult, 1)
		go func() {
			res, err := send(t.Context(), "stays")
			if err != nil {
				t.Error(err)
			}
			done <- res
		}()
		for got := <-places; got != "waiting for a turn: 1st in the queue"; {
			got = <-places
		}
		for i := range 3 {
			release <- fmt.Sprint("number ", i)
		}
		if got := textOf(<-done); got != "number 1" && got != "number 2" { // customers have their turns in a random order
			t.Errorf("%s: %q, want one of the results after the first", revision, got)
		}
		for _, id := range ids {
			if got := c.until(id, "completed", "failed"); got.Status != "completed" {
				t.Errorf("%+v, want the result", got)
			}
		}
		w.mu.Lock()
		for _, job := range w.jobs {
			if job.Code == "gone" {
				t.Errorf("%s: the call of a client that gave up was made", revision)
			}
		}
		w.mu.Unlock()
	}
}

// TestFollow checks that a call of a client without tasks, which another server makes, has its progress, its question and its result from there.
func TestFollow(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			s := newState(t)
			w, c, release := tasksFixture(t, func(o *mcpserver.Options) { o.Parallel = 16; s.join(t)(o) })
			for range 16 { // no place is free
				if got := c.run(); got.ResultType != "task" {
					t.Fatalf("%+v, want a task", got)
				}
			}
			elsewhere, heard := make(chan *mcpserver.Job, 100), make(chan bool, 1000)
			other, _, _ := tasksFixture(t, s.join(t))
			other.run = func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
				elsewhere <- job
				fmt.Fprintln(job.Stdout, "said elsewhere")
				select {
				case <-heard:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
				a, err := job.Ask(ctx, &upstream.Question{Server: "crm", Message: "How many?", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)})
				if err != nil {
					return nil, err
				}
				return &runner.Result{Cause: runner.CauseExit, Stdout: a.Action + string(a.Content), Value: json.RawMessage("12345678901234567890")}, nil
			}
			session := w.stdio(w.srv, revision, &mcp.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					if r.Params.Message != "[crm] How many?" {
						t.Errorf("the question is %q", r.Params.Message)
					}
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"n": 7}}, nil
				},
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
					if strings.Contains(r.Params.Message, "said elsewhere") {
						heard <- true
					}
				},
			})
			ctx, giveUp := context.WithCancel(t.Context())
			defer giveUp()
			done := make(chan *mcp.CallToolResult, 100)
			var job *mcpserver.Job
			for i := 0; job == nil && i < 14; i++ { // any server may take a call
				go func() {
					params := &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": "x"}}
					params.SetProgressToken("p")
					if res, err := session.CallTool(ctx, params); err == nil {
						done <- res
					}
				}()
				select {
				case job = <-elsewhere:
				case <-time.After(500 * time.Millisecond):
				}
			}
			if job == nil {
				t.Fatal("the other server took no call")
			}
			if job.Customer.ID != "acme" || job.Client.Name != "test" || job.Work == "" || !job.CanAsk {
				t.Errorf("the other server got %+v, want the call as it was made", job)
			}
			res := <-done
			if text := textOf(res); res.IsError || !strings.Contains(text, `accept{"n":7}`) || !strings.Contains(text, "12345678901234567890") {
				t.Errorf("%q, want the result", text)
			}
			giveUp()
			close(release)
		})
	}
}

// TestDeadlyTask checks that a task does not take down one process after another without end.
func TestDeadlyTask(t *testing.T) {
	s := newState(t)
	front := s.child(t)
	made := taskClient{t: t, url: front.url, token: tokenOfAda, caps: takesTasks}.run()
	for range 5 {
		if got := front.line(); got != "runs "+made.TaskID {
			t.Fatalf("the front says %q, want that it runs the task", got)
		}
		waitFor(t, func() bool { // the first has said so
			all, err := s.store.ListDocuments(t.Context(), "ada", "task")
			return err == nil && len(all) == 1
		})
		front.kill()
		leases, err := s.store.Leases(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range leases { // which others would wait for
			if err := s.store.Release(t.Context(), l.Name, l.Owner); err != nil {
				t.Fatal(err)
			}
		}
		front = s.child(t)
	}
	c := taskClient{t: t, url: front.url, token: tokenOfAda, caps: takesTasks}
	if got := c.until(made.TaskID, "completed", "failed", "cancelled"); got.Status != "failed" || !strings.Contains(got.StatusMessage, "5 processes that ran it have died; its outcome is unknown") {
		t.Errorf("%+v, want it failed", got)
	}
}

// TestOrphans checks that a call is not made if the server of the client that waits for it has died, and one of a task is.
func TestOrphans(t *testing.T) {
	s := newState(t)
	front := s.child(t)
	c := taskClient{t: t, url: front.url, token: tokenOfAda, caps: takesTasks}
	running := c.run()
	front.line()
	c.run() // takes the queue's place
	waits := c
	waits.caps = "{}"
	go func() {
		_, _ = waits.send(t.Context(), "tools/call", `"name":"execute_code","arguments":{"code":"orphan"}`)
	}()
	engine, err := durable.Open(t.Context(), durable.Options{State: s.place, Store: s.store})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(t.Context())
	waitFor(t, func() bool {
		all, err := engine.List(t.Context(), durable.Filter{Open: true})
		return err == nil && len(all) == 3
	})
	front.kill()
	waitFor(t, func() bool { // until then it counts as alive
		leases, err := s.store.Leases(t.Context(), "executor/")
		return err == nil && !slices.ContainsFunc(leases, func(l store.Lease) bool { return !l.Expired })
	})
	w, second, release := tasksFixture(t, s.join(t))
	close(release)
	if got := second.until(running.TaskID, "completed", "failed"); got.Status != "completed" {
		t.Errorf("%+v, want the result", got)
	}
	waitFor(t, func() bool {
		all, err := engine.List(t.Context(), durable.Filter{Open: true})
		return err == nil && len(all) == 0
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, job := range w.jobs {
		if job.Code == "orphan" {
			t.Error("the call without a client was made")
		}
	}
	if len(w.jobs) != 2 {
		t.Errorf("%d calls were made, want 2", len(w.jobs))
	}
}

// TestRate checks that calls wait although there are places, if the rate says so.
func TestRate(t *testing.T) {
	s := newState(t)
	w, c, release := tasksFixture(t, func(o *mcpserver.Options) {
		o.Rate, o.RatePeriod = 1, time.Hour
		s.join(t)(o)
	})
	first, second := c.run(), c.run()
	release <- "one of them"
	var ended, waiting string
	waitFor(t, func() bool {
		for _, id := range []string{first.TaskID, second.TaskID} {
			switch got := c.get(id); {
			case got.Status == "completed":
				ended = id
			case got.StatusMessage == "waiting for a turn: 1st in the queue":
				waiting = id
			}
		}
		return ended != "" && waiting != ""
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	if ended == waiting || len(w.jobs) != 1 {
		t.Errorf("%d calls were made, want one", len(w.jobs))
	}
}

// TestSettled checks when a call is known not to begin again: one that ends before it is a task at once, a task when its outcome is kept.
func TestSettled(t *testing.T) {
	settled := make(chan string, 10)
	s := newState(t)
	w, c, release := tasksFixture(t, func(o *mcpserver.Options) {
		o.Settled = func(_ context.Context, customer, work string) { settled <- customer + " " + work }
		o.TaskAfter = 500 * time.Millisecond
		s.join(t)(o)
	})
	for range 2 {
		go func() { release <- "soon" }()
		if got := c.run(); got.ResultType != "complete" {
			t.Fatalf("%+v, want a result", got)
		}
		w.mu.Lock()
		work := w.jobs[len(w.jobs)-1].Work
		w.mu.Unlock()
		if got := <-settled; work == "" || got != "ada "+work {
			t.Errorf("%q was settled, want %q", got, work)
		}
	}
	made := c.run()
	if len(settled) != 0 {
		t.Error("a task in progress was settled")
	}
	release <- "late"
	if got := <-settled; got != "ada "+made.TaskID {
		t.Errorf("%q was settled, want the task %s", got, made.TaskID)
	}
	if got := c.until(made.TaskID, "completed", "failed"); got.Status != "completed" {
		t.Errorf("%+v, want the result", got)
	}
	plain := c
	plain.caps = "{}"
	go func() { release <- "plain" }()
	plain.run()
	w.mu.Lock()
	defer w.mu.Unlock()
	if work := w.jobs[len(w.jobs)-1].Work; work != "" {
		t.Errorf("a call that is no task has the work %q", work)
	}
}

// TestCloseInterruptsTasks checks that a task goes on in the next process when its server is closed, and a plain call ends.
func TestCloseInterruptsTasks(t *testing.T) {
	s := newState(t)
	w := newFixture(t)
	started := make(chan bool, 2)
	var causes atomic.Int32
	w.run = func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
		started <- true
		<-job.Ending
		<-ctx.Done()
		causes.Add(1)
		return nil, ctx.Err()
	}
	w.opt.TaskAfter = time.Millisecond
	s.join(t)(&w.opt)
	server := w.server()
	first := taskClient{t: t, url: w.web(server, &mcpserver.HTTPOptions{Tokens: tokensOf(t)}).URL, token: tokenOfAda, caps: takesTasks}
	made := first.run()
	plain := first
	plain.caps = "{}"
	ended := make(chan *wireTask, 1)
	go func() { ended <- plain.run() }()
	<-started
	<-started
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-ended; causes.Load() != 2 || !strings.Contains(got.Content[0].Text, "the server is ending") {
		t.Errorf("%+v, want the plain call ended", got)
	}
	_, second, release := tasksFixture(t, s.join(t))
	release <- "went on"
	if got := second.until(made.TaskID, "completed", "failed", "cancelled"); !strings.Contains(string(got.Result), "went on") {
		t.Errorf("%+v, want the result", got)
	}
}

// TestKeptIsSealed checks that code and results are not in clear in the database.
func TestKeptIsSealed(t *testing.T) {
	s := newState(t)
	_, c, release := tasksFixture(t, s.join(t))
	made := c.do("tools/call", `"name":"execute_code","arguments":{"code":"code-in-clear"}`)
	release <- "result-in-clear"
	if got := c.until(made.TaskID, "completed"); !strings.Contains(string(got.Result), "result-in-clear") {
		t.Fatalf("%+v, want the result", got)
	}
	files, err := filepath.Glob(s.place + "*")
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		kept += bytes.Count(data, []byte(made.TaskID))
		if bytes.Contains(data, []byte("in-clear")) {
			t.Errorf("%s has the code or the result in clear", file)
		}
	}
	if kept == 0 {
		t.Error("no file has the task")
	}
}

// TestEngineNeedsState checks that a server with an engine refuses to begin without the rest.
func TestEngineNeedsState(t *testing.T) {
	w := newFixture(t)
	newState(t).join(t)(&w.opt)
	defer w.opt.Engine.Close(t.Context())
	w.opt.Secret = nil
	if _, err := mcpserver.New(&w.opt); err == nil || !strings.Contains(err.Error(), "State and Secret") {
		t.Errorf("New() = %v, want an error", err)
	}
}

// waitFor waits until something is so.
func waitFor(t *testing.T, so func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never came")
		}
	}
}
