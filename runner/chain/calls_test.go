package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

// definitions are what the server crm lists.
var definitions = map[string]string{
	"get":  `{"name":"get","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"id":{"type":"integer"}},"additionalProperties":false},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`,
	"put":  `{"name":"put","annotations":{"idempotentHint":true},"inputSchema":{"type":"object","properties":{"id":{"type":"integer"}}}}`,
	"send": `{"name":"send","inputSchema":{"type":"object"}}`,
}

// answerer is a server as a function.
type answerer func(ctx context.Context, tool string, args json.RawMessage, opt *upstream.CallOptions) (*upstream.CallResult, error)

func (f answerer) Call(ctx context.Context, _, tool string, args json.RawMessage, opt *upstream.CallOptions) (*upstream.CallResult, error) {
	return f(ctx, tool, args, opt)
}

func structured(value string) *upstream.CallResult {
	return &upstream.CallResult{Raw: json.RawMessage(`{"structuredContent":` + value + `}`), Structured: json.RawMessage(value)}
}

// always answers every call.
func always(value string) answerer {
	return func(context.Context, string, json.RawMessage, *upstream.CallOptions) (*upstream.CallResult, error) {
		return structured(value), nil
	}
}

// way is a chain to test.
type testCalls struct {
	*Calls
	handler call.Handler
	events  []Event
}

func newTestCalls(t *testing.T, up Upstreams, servers map[string]ServerSettings, set Settings, workspaceDir string) *testCalls {
	t.Helper()
	var raw []json.RawMessage
	for _, name := range []string{"get", "put", "send"} {
		raw = append(raw, json.RawMessage(definitions[name]))
	}
	server, warnings := catalog.NewServer("crm", "", "", raw)
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	cat, err := catalog.New([]catalog.Server{server})
	if err != nil {
		t.Fatal(err)
	}
	var store *workspace.Store
	if workspaceDir != "" {
		store = workspace.NewStore(workspaceDir, 1<<20)
		t.Cleanup(func() { store.Close() })
	}
	w := &testCalls{}
	w.Calls, err = New(Options{Catalog: cat, Upstreams: up, Servers: servers, Logger: slog.New(slog.DiscardHandler)}).NewCalls(t.Context(), Run{ID: "run-x", Settings: set, Store: store, Watch: func(e Event) { w.events = append(w.events, e) }})
	if err != nil {
		t.Fatal(err)
	}
	w.handler = w.Calls.Handler()
	return w
}

// do makes a call and returns its value, or the kind and message of its error.
func (w *testCalls) do(ctx context.Context, tool, args string) string {
	res, err := w.handler(ctx, &call.Request{Tool: tool, Args: json.RawMessage(args)})
	return outcomeOf(res, err)
}

func outcomeOf(res *call.Result, err error) string {
	if err == nil {
		return string(res.Value)
	}
	var e *call.Error
	if errors.As(err, &e) {
		again := ""
		if e.Retryable {
			again = " (retryable)"
		}
		return fmt.Sprintf("%s%s: %s", e.Kind, again, e.Message)
	}
	return err.Error()
}

func (w *testCalls) kinds() (kinds []EventKind) {
	for _, e := range w.events {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func wants(t *testing.T, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTimesOfACall(t *testing.T) {
	hang := func(ctx context.Context) (*upstream.CallResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	// A server that says something each second and answers after ten.
	busy := answerer(func(ctx context.Context, _ string, _ json.RawMessage, opt *upstream.CallOptions) (*upstream.CallResult, error) {
		for i := range 10 {
			if !sleepFor(ctx, time.Second) {
				return nil, ctx.Err()
			}
			opt.Progress(upstream.Progress{Progress: float64(i)})
		}
		return structured(`{"n":1}`), nil
	})
	asking := answerer(func(ctx context.Context, _ string, _ json.RawMessage, opt *upstream.CallOptions) (*upstream.CallResult, error) {
		if _, err := opt.Elicit(ctx, &upstream.Question{}); err != nil {
			return nil, err
		}
		if !sleepFor(ctx, time.Second) {
			return nil, ctx.Err()
		}
		return structured(`{"n":1}`), nil
	})
	silent := answerer(func(ctx context.Context, _ string, _ json.RawMessage, _ *upstream.CallOptions) (*upstream.CallResult, error) {
		return hang(ctx)
	})
	for _, c := range []struct {
		name   string
		up     Upstreams
		server ServerSettings
		set    Settings
		own    time.Duration
		want   string
		took   time.Duration
	}{
		{"by default", silent, ServerSettings{}, Settings{}, 0, "timeout: no answer and no progress within 1m", time.Minute},
		{"the server's", silent, ServerSettings{Timeout: 5 * time.Second}, Settings{}, 0, "within 5s", 5 * time.Second},
		{"the run's goes before", silent, ServerSettings{Timeout: 5 * time.Second}, Settings{Timeout: 2 * time.Second}, 0, "within 2s", 2 * time.Second},
		{"progress renews it", busy, ServerSettings{Timeout: 3 * time.Second}, Settings{}, 0, `{"n":1}`, 10 * time.Second},
		{"up to a point", busy, ServerSettings{Timeout: 3 * time.Second, MaxTime: 7 * time.Second}, Settings{}, 0, "within 7s, regardless of progress", 7 * time.Second},
		{"the script's own", busy, ServerSettings{}, Settings{}, 4 * time.Second, "within 4s, the timeout that the script gave", 4 * time.Second},
		{"which can't be more", silent, ServerSettings{Timeout: 3 * time.Second}, Settings{}, time.Hour, "within 3s", 3 * time.Second},
		{"a person's time is not counted", asking, ServerSettings{Timeout: 3 * time.Second, MaxTime: 4 * time.Second}, Settings{}, 0, `{"n":1}`, time.Hour + time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestCalls(t, c.up, map[string]ServerSettings{"crm": c.server}, c.set, "")
				w.run.Elicit = func(ctx context.Context, _ *upstream.Question) (*upstream.Reply, error) {
					time.Sleep(time.Hour)
					return &upstream.Reply{Action: upstream.ActionDecline}, nil
				}
				start := time.Now()
				res, err := w.handler(t.Context(), &call.Request{Tool: "crm__get", Args: json.RawMessage(`{}`), Timeout: c.own})
				wants(t, outcomeOf(res, err), c.want)
				if took := time.Since(start); took != c.took {
					t.Errorf("it took %v, want %v", took, c.took)
				}
			})
		})
	}
}

func sleepFor(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most := 0, 0
		up := answerer(func(ctx context.Context, _ string, _ json.RawMessage, _ *upstream.CallOptions) (*upstream.CallResult, error) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(2 * time.Second)
			mu.Lock()
			now--
			mu.Unlock()
			return structured(`{"n":1}`), nil
		})
		w := newTestCalls(t, up, map[string]ServerSettings{"crm": {Parallel: 3, Timeout: 3 * time.Second}}, Settings{}, "")
		var wg sync.WaitGroup
		for range 9 { // three rounds: the last ones wait longer than a call may take
			wg.Go(func() { wants(t, w.do(t.Context(), "crm__get", `{}`), `{"n":1}`) })
		}
		wg.Wait()
		if most != 3 {
			t.Errorf("%d calls at once, want 3", most)
		}
		list := w.Finish().Calls
		if got := slices.MaxFunc(list, func(a, b CallRecord) int { return int(a.QueueMS - b.QueueMS) }); got.QueueMS != 4000 || got.DurationMS != 6000 {
			t.Errorf("the last call: %+v, want QueueMS 4000 and DurationMS 6000", got)
		}
	})
}

// TestQueueOfOneServer: calls that wait for a slow server do not delay calls to other servers, nor other runs.
func TestQueueOfOneServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCalls(t, always(`1`), map[string]ServerSettings{"slow": {Parallel: 2}}, Settings{Parallel: 4}, "")
		block := make(chan struct{})
		stage := w.queue(func(ctx context.Context, req *request) (*call.Result, error) {
			if req.Server == "slow" {
				<-block
			}
			return &call.Result{}, nil
		})
		for range 20 {
			go stage(t.Context(), &request{Request: call.Request{Server: "slow"}})
		}
		synctest.Wait()
		if _, err := stage(t.Context(), &request{Request: call.Request{Server: "quick"}}); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := stage(ctx, &request{Request: call.Request{Server: "slow"}}); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled call that waits: %v, want %v", err, context.Canceled)
		}
		close(block)
	})
}

// TestCancelled: the error of a cancelled call says why, and whether a server had it.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the server is ending"))
	for sent, want := range map[bool]string{
		false: "cancelled: the server is ending",
		true:  "cancelled: the server is ending; the call had reached the server and may have taken effect",
	} {
		req := &request{}
		if sent {
			req.waiting.sent()
		}
		if e := callError(ctx, req, ctx.Err()); e.Kind != call.KindCancelled || e.Message != want {
			t.Errorf("sent %v: %s: %s, want %s and %s", sent, e.Kind, e.Message, call.KindCancelled, want)
		}
	}
}

func TestRetry(t *testing.T) {
	lost := &upstream.ConnectionError{Server: "crm", Reason: "it went away"}
	notSent := &upstream.ConnectionError{Server: "crm", Reason: "it did not start", NotSent: true}
	alone := &upstream.ConnectionError{Server: "crm", Reason: "it failed repeatedly", NotSent: true, RetryAt: time.Now().Add(time.Minute)}
	slow := &upstream.ConnectionError{Server: "crm", Reason: "it did not get ready in time", NotSent: true, Slow: true}
	missing := &upstream.ConnectionError{Server: "crm", Reason: "there is no such program", NotSent: true, Missing: true}
	login := &upstream.ConnectionError{Server: "crm", Reason: "log in", NotSent: true, Login: true}
	for _, c := range []struct {
		name, tool string
		server     ServerSettings
		errs       []error // of the first tries
		want       string
		tries      int
	}{
		{"a lost call of any tool", "send", ServerSettings{Trusted: true}, []error{lost}, "connection: ", 1},
		{"a hint of a server that is not trusted", "put", ServerSettings{}, []error{lost}, "connection: ", 1},
		{"a hint of one that is", "put", ServerSettings{Trusted: true}, []error{lost, lost}, `{"n":1}`, 3},
		{"a read", "get", ServerSettings{Trusted: true}, []error{lost}, `{"n":1}`, 2},
		{"the configuration's word", "send", ServerSettings{Idempotent: []string{"se*"}}, []error{lost}, `{"n":1}`, 2},
		{"only so often", "put", ServerSettings{Trusted: true}, []error{lost, lost, lost}, "connection (retryable): ", 3},
		{"not sent", "send", ServerSettings{}, []error{notSent}, `{"n":1}`, 2},
		{"not sent again", "send", ServerSettings{}, []error{notSent, notSent}, "connection (retryable): ", 2},
		{"a start that took too long", "get", ServerSettings{Trusted: true}, []error{slow}, "connection (retryable): ", 1},
		{"a program that does not exist", "get", ServerSettings{Trusted: true}, []error{missing}, "connection: ", 1},
		{"a login", "get", ServerSettings{Trusted: true}, []error{login}, "connection: ", 1},
		{"a server that is left alone", "get", ServerSettings{Trusted: true}, []error{alone}, "connection (retryable): ", 1},
		{"a protocol error", "get", ServerSettings{Trusted: true}, []error{&upstream.ProtocolError{Code: -32000, Message: "no"}}, "protocol: no", 1},
		{"another connection error", "get", ServerSettings{Trusted: true}, []error{errors.New("gone")}, "connection: gone", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				up := answerer(func(context.Context, string, json.RawMessage, *upstream.CallOptions) (*upstream.CallResult, error) {
					if tries++; tries <= len(c.errs) {
						return nil, c.errs[tries-1]
					}
					return structured(`{"n":1}`), nil
				})
				w := newTestCalls(t, up, map[string]ServerSettings{"crm": c.server}, Settings{}, "")
				wants(t, w.do(t.Context(), "crm__"+c.tool, `{}`), c.want)
				list := w.Finish().Calls
				if tries != c.tries || list[0].Retries != c.tries-1 {
					t.Errorf("%d tries, %d retries reported; want %d tries", tries, list[0].Retries, c.tries)
				}
			})
		})
	}
}

func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		up := answerer(func(_ context.Context, _ string, _ json.RawMessage, opt *upstream.CallOptions) (*upstream.CallResult, error) {
			if tries++; tries == 1 {
				return nil, &upstream.ConnectionError{Server: "crm", Reason: "no", NotSent: true}
			}
			opt.Progress(upstream.Progress{Progress: 1, Total: 2, Message: "half"})
			return structured(`{}`), nil
		})
		w := newTestCalls(t, up, nil, Settings{}, "")
		w.do(t.Context(), "crm__get", `{}`)
		var waits []string
		w.events = slices.DeleteFunc(w.events, func(e Event) bool {
			if e.Kind == EventWaiting {
				waits = append(waits, e.Message)
			}
			return e.Kind == EventWaiting
		})
		if want := []string{"a place in the queue", WaitAnswer, "its next try", WaitAnswer}; !slices.Equal(waits, want) {
			t.Errorf("the call waited for %q, want %q", waits, want)
		}
		want := []EventKind{EventStarted, EventRetry, EventStarted, EventProgress, EventWarning, EventEnded}
		if !slices.Equal(w.kinds(), want) || w.events[3].Progress.Message != "half" || w.events[5].Outcome != "ok" || w.events[5].Call != 1 {
			t.Errorf(`%+v, want %v, w.events[3].Progress.Message "half", w.events[5].Outcome "ok" and w.events[5].Call 1`, w.events, want)
		}
		if again := "; retrying (try 2 of 2)"; !strings.HasSuffix(w.events[1].Message, again) {
			t.Errorf("%q does not say that the call is retried, want %q at its end", w.events[1].Message, again)
		}
	})
}

func TestRaw(t *testing.T) {
	up := answerer(func(context.Context, string, json.RawMessage, *upstream.CallOptions) (*upstream.CallResult, error) {
		return &upstream.CallResult{Raw: json.RawMessage(`{"isError":true,"content":[]}`), IsError: true}, nil
	})
	w := newTestCalls(t, up, nil, Settings{StrictOutput: true}, "")
	res, err := w.handler(t.Context(), &call.Request{Tool: "crm__get", Args: json.RawMessage(`{}`), Raw: true})
	if err != nil || string(res.Value) != `{"isError":true,"content":[]}` {
		t.Errorf("%v %v, want string(res.Value) %q and no error", res, err, `{"isError":true,"content":[]}`)
	}
}

// TestRefusedCallsReplaceNoOthers: a script may make any number of calls that come to nothing.
func TestRefusedCallsReplaceNoOthers(t *testing.T) {
	u := &usage{}
	for i := range maxRecorded + 10 {
		u.add(CallRecord{Call: i + 1, Tool: "no__such", Outcome: "argument"}, nil, nil)
	}
	u.add(CallRecord{Call: maxRecorded + 11, Tool: "crm__delete", Outcome: OutcomeOK, reached: true}, nil, nil)
	sum := (&Calls{usage: u}).Finish()
	if last := sum.Calls[len(sum.Calls)-1]; len(sum.Calls) != maxRecorded || sum.Count != maxRecorded+11 || last.Tool != "crm__delete" {
		t.Errorf(`%d of %d calls are listed, the last is %+v, want %d, %d and Tool "crm__delete"`, len(sum.Calls), sum.Count, last, maxRecorded, maxRecorded+11)
	}
}

// TestCountsDoNotPileUp: texts are counted more slowly than they come, and stay in memory until then.
func TestCountsDoNotPileUp(t *testing.T) {
	u := &usage{count: true, waiting: maxWaiting - 100}
	text := json.RawMessage(`"` + strings.Repeat("word ", 40) + `"`)
	for range 5 {
		u.add(CallRecord{}, text, text)
	}
	if want := 5 * (len(text) / bytesPerToken); u.waiting != maxWaiting-100 || u.arguments != want || u.results != want {
		t.Errorf("%d bytes wait, %d and %d tokens were reckoned, want %d each", u.waiting, u.arguments, u.results, want)
	}
	u.waiting, u.arguments, u.results = 0, 0, 0
	u.add(CallRecord{}, text, text)
	u.counted()
	if u.waiting != 0 || u.arguments != 42 && u.arguments != 43 {
		t.Errorf("%d bytes wait, %d tokens were counted", u.waiting, u.arguments)
	}
}

func TestMade(t *testing.T) {
	rows := func(outcomes ...string) (list []CallRecord) {
		for _, o := range outcomes {
			tool, outcome, _ := strings.Cut(o, " ")
			kind, never := strings.CutSuffix(outcome, " unsent")
			list = append(list, CallRecord{Tool: tool, Outcome: kind, reached: kind != "argument" && kind != OutcomeDry && !never})
		}
		return list
	}
	for _, c := range []struct {
		sum  Summary
		want string
	}{
		{Summary{Calls: rows("a__x argument", "a__y dry")}, ""},
		{Summary{Calls: rows("a__x connection unsent", "a__y timeout unsent")}, ""},
		{Summary{Calls: rows("a__x ok")}, "1 call already succeeded; running the script again will repeat it: a__x ok"},
		{Summary{Calls: rows("a__x ok", "a__x ok", "a__x argument", "a__y timeout")}, "3 calls already reached a server; running the script again will repeat them: a__x ok ×2, a__y failed (timeout)"},
		// What a script has done is not hidden by how it did it.
		{Summary{Calls: rows(slices.Repeat([]string{"a__x ok", "a__y ok"}, maxMade)...)}, "40 calls already succeeded; running the script again will repeat them: a__x ok ×20, a__y ok ×20"},
		{Summary{Calls: rows("a__x ok"), Count: 3}, "1 call already succeeded; running the script again will repeat it: a__x ok, 2 further calls were not recorded"},
	} {
		if got := c.sum.Made(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestDetails: they have no personal data, and a bounded size, and belong to the calls that have them.
func TestDetails(t *testing.T) {
	up := answerer(func(_ context.Context, tool string, args json.RawMessage, _ *upstream.CallOptions) (*upstream.CallResult, error) {
		if strings.Contains(string(args), "fail") {
			return &upstream.CallResult{Content: []json.RawMessage{json.RawMessage(`{"type":"text","text":"no jane.doe@example.com"}`)}, IsError: true}, nil
		}
		return structured(`{"to":"jane.doe@example.com","text":"` + strings.Repeat("x", 2*maxDetail) + `"}`), nil
	})
	w := newTestCalls(t, up, nil, Settings{Details: true}, "")
	w.details.script, w.details.lines = "s.ts", []string{"first", `  put({ mail: "jane.doe@example.com" });`}
	for _, c := range []struct{ tool, args, at string }{
		{"crm__put", `{"mail":"jane.doe@example.com"}`, "s.ts:2"},
		{"crm__put", `{"fail":true}`, "helper.ts:2"},
		{"crm__none", `{}`, "s.ts:99"},
	} {
		_, _ = w.handler(t.Context(), &call.Request{Tool: c.tool, Args: json.RawMessage(c.args), At: c.at})
	}
	calls := w.Finish().Calls
	if len(calls) != 3 {
		t.Fatalf("%d calls, want 3", len(calls))
	}
	put, fail, none := calls[0].Details, calls[1].Details, calls[2].Details
	if put.At != "s.ts:2" || put.Line != `put({ mail: "[EMAIL_1]" });` || put.Arguments != `{"mail":"[EMAIL_1]"}` || !strings.HasPrefix(put.Result, `{"to":"[EMAIL_1]"`) || len(put.Result) > maxDetail+len("…") {
		t.Errorf("details of put: %+v", put)
	}
	if fail.At != "helper.ts:2" || fail.Line != "" || fail.Result != "" || fail.Error != "no [EMAIL_1]" {
		t.Errorf(`details of a failed call: %+v, want At "helper.ts:2", Line "", Result "" and Error "no [EMAIL_1]"`, fail)
	}
	if none.Line != "" || none.Arguments != "{}" || none.Error == "" {
		t.Errorf("details of an unknown tool: %+v", none)
	}
	if text, err := json.Marshal(calls); err != nil || strings.Contains(string(text), "EMAIL_1") {
		t.Errorf(`details are in the JSON: %s, %v, want no "EMAIL_1" in it and no error`, text, err)
	}

	w.details.kept = maxDetails
	_, _ = w.handler(t.Context(), &call.Request{Tool: "crm__put", Args: json.RawMessage(`{}`), At: "s.ts:1"})
	if calls := w.Finish().Calls; calls[3].Details.Arguments != "" || calls[3].Details.Line != "first" {
		t.Errorf(`details beyond the bound: %+v, want Details.Arguments "" and Details.Line "first"`, calls[3].Details)
	}
}

// TestNoDetails: nothing is kept unless it is asked for.
func TestNoDetails(t *testing.T) {
	w := newTestCalls(t, always(`{"n":1}`), nil, Settings{}, "")
	w.do(t.Context(), "crm__get", `{}`)
	if calls := w.Finish().Calls; calls[0].Details != nil {
		t.Errorf("Details = %+v, want nil", calls[0].Details)
	}
}

// TestChanging checks which calls of a run may have changed something.
func TestChanging(t *testing.T) {
	for _, c := range []struct {
		rec  CallRecord
		want bool
	}{
		{CallRecord{Outcome: OutcomeOK, reached: true}, true},
		{CallRecord{Outcome: OutcomeOK, reached: true, ToolError: true}, true},
		{CallRecord{Outcome: OutcomeOK, reached: true, changesNothing: true}, false},
		{CallRecord{Outcome: "timeout", reached: true}, true},
		{CallRecord{Outcome: "protocol", reached: true}, true},
		{CallRecord{Outcome: "cancelled", reached: true}, true},
		{CallRecord{Outcome: "tool", reached: true}, false},
		{CallRecord{Outcome: "connection"}, false},
		{CallRecord{Outcome: "denied"}, false},
		{CallRecord{Outcome: OutcomeDry}, false},
	} {
		if got := c.rec.Changing(); got != c.want {
			t.Errorf("%+v: Changing() = %t, want %t", c.rec, got, c.want)
		}
	}
}
