package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/journal"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/pii/piitest"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// trusted makes crm__get read-only and crm__put idempotent.
var trusted = map[string]ServerSettings{"crm": {Trusted: true}}

func newState(t testing.TB) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// execution begins an execution of the run whose calls are kept in s.
func execution(t testing.TB, s store.Logs) *journal.Journal {
	t.Helper()
	j, err := journal.Open(context.Background(), s, store.Key{Kind: "journal", Name: "run-x"}, make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// deadly counts its calls, and ends the process that has made one, or what stands for it, if its arguments end with 1.
type deadly struct {
	n   int
	die func()
}

func (d *deadly) Call(ctx context.Context, _, _ string, args json.RawMessage, _ *upstream.CallOptions) (*upstream.CallResult, error) {
	if d.n++; strings.HasSuffix(string(args), "1}") {
		d.die()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return structured(`{"n":1}`), nil
}

// dies makes a call that never ends.
func (d *deadly) dies(t *testing.T, w *testCalls, tool, args string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	d.die = cancel
	wants(t, w.do(ctx, tool, args), "cancelled")
}

func TestContinuedRun(t *testing.T) {
	state := newState(t)
	rows, err := audit.Open(state, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n, decided, asked := 0, 0, 0
	up := answerer(func(_ context.Context, tool string, args json.RawMessage, _ *upstream.CallOptions) (*upstream.CallResult, error) {
		n++
		switch {
		case strings.Contains(string(args), `"fails"`):
			return &upstream.CallResult{IsError: true, Raw: json.RawMessage(`{"isError":true}`), Content: []json.RawMessage{json.RawMessage(`{"type":"text","text":"no <room>"}`)}}, nil
		case tool == "send":
			return &upstream.CallResult{Content: []json.RawMessage{json.RawMessage(fmt.Sprintf(`{"type":"text","text":"{\"sent\":%d}"}`, n))}}, nil
		}
		return structured(fmt.Sprintf(`{"n":%d}`, n)), nil
	})
	set := Settings{
		Audit: rows,
		Policy: deciderFunc(func(req *policy.Request) policy.Decision {
			decided++
			switch {
			case strings.Contains(string(req.Args), `"denied"`):
				return policy.Decision{Effect: policy.Deny, Rule: "r", Reason: "no"}
			case req.Name == "send":
				return policy.Decision{Effect: policy.Ask, Rule: "r"}
			}
			return policy.Decision{Effect: policy.Allow}
		}),
		Approver: approverFunc(func(context.Context, *approve.Question) (approve.Answer, error) {
			asked++
			return approve.Answer{Scope: approve.Once}, nil
		}),
	}
	requests := []call.Request{
		{Tool: "crm__get", Args: json.RawMessage(`{"id":1}`)},
		{Tool: "crm__get", Args: json.RawMessage(`{"id":1}`)},
		{Tool: "crm__send", Args: json.RawMessage(`{"a":1,"b":2}`)},
		{Tool: "crm__send", Args: json.RawMessage(`{"a":"fails"}`)},
		{Tool: "crm__send", Args: json.RawMessage(`{"a":"fails"}`), Raw: true},
		{Tool: "crm__send", Args: json.RawMessage(`{"a":"denied"}`)},
		{Tool: "crm__put", Args: json.RawMessage(`{"id":3}`)},
	}
	script := func() (out []string, sum *Summary, taint []string) {
		set.Known = &policy.Run{}
		set.Journal = execution(t, state)
		w := newTestCalls(t, up, trusted, set, "")
		for _, req := range requests {
			res, err := w.handler(t.Context(), &req)
			said := outcomeOf(res, err)
			if err == nil {
				said += fmt.Sprintf(" as %q, structured %t, raw %.20s", res.As, res.Structured, res.Raw)
			}
			out = append(out, said)
		}
		return out, w.Finish(), set.Known.Taint()
	}
	first, sum, taint := script()
	calls, decisions, questions := n, decided, asked
	if calls != 6 || decisions != 7 || questions != 3 {
		t.Fatalf("%d calls, %d decisions, %d questions in the first execution, want 6, 7 and 3: %q", calls, decisions, questions, first)
	}
	if err := rows.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	size, err := state.Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	requests[2].Args = json.RawMessage(`{ "b": 2, "a": 1 }`) // the same, in another form
	for range 2 {
		again, now, tainted := script()
		for i := range first {
			if want := first[i]; again[i] != want && !strings.HasPrefix(want, again[i][:20]) {
				t.Errorf("call %d = %s, want %s", i+1, again[i], want)
			}
		}
		if n != calls || decided != decisions || asked != questions {
			t.Errorf("%d calls, %d decisions, %d questions, want none", n-calls, decided-decisions, asked-questions)
		}
		if now.Made() != sum.Made() || fmt.Sprint(tainted) != fmt.Sprint(taint) || len(taint) == 0 {
			t.Errorf("Made() = %s, want %s; tainted by %q, want %q", now.Made(), sum.Made(), tainted, taint)
		}
	}
	if err := rows.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now, err := state.Size(t.Context()); err != nil || now != size {
		t.Errorf("the record has %d rows, %v, want %d", now, err, size)
	}
}

// TestUnknownCalls continues a run whose process died while calls were under way.
func TestUnknownCalls(t *testing.T) {
	state, d := newState(t), &deadly{}
	const unknown = "unknown: unknown whether the call was made: its process ended before the answer came"
	w := newTestCalls(t, d, trusted, Settings{Journal: execution(t, state)}, "")
	for _, tool := range []string{"crm__send", "crm__get", "crm__put"} {
		d.dies(t, w, tool, `{"id":1}`)
	}
	if d.n != 3 {
		t.Fatalf("%d calls, want 3", d.n)
	}
	rows, err := audit.Open(state, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for range 2 { // the error is kept
		w = newTestCalls(t, always(`{"n":7}`), trusted, Settings{Journal: execution(t, state), Audit: rows}, "")
		_, err := w.handler(t.Context(), &call.Request{Tool: "crm__send", Args: json.RawMessage(`{"id":1}`)})
		if got := outcomeOf(nil, err); got != unknown {
			t.Errorf("crm__send = %s, want %s", got, unknown)
		}
		if e, ok := errors.AsType[*call.UnknownError](err); !ok || e.Call != "crm__send" {
			t.Errorf("crm__send = %#v, want an UnknownError", err)
		}
		wants(t, w.do(t.Context(), "crm__get", `{"id":1}`), `{"n":7}`)
		wants(t, w.do(t.Context(), "crm__put", `{"id":1}`), `{"n":7}`)
		wants(t, w.do(t.Context(), "crm__send", `{"id":2}`), `{"n":7}`)
	}
	if err := rows.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	ends := 0
	err = state.Rows(t.Context(), store.Range{Kinds: []string{string(audit.KindCallEnd)}}, func(r store.Row) error {
		if strings.Contains(string(r.Content), "unknown whether the call was made") {
			ends++
		}
		return nil
	})
	if err != nil || ends != 1 {
		t.Errorf("the record has %d ends of the unknown call, %v; want one", ends, err)
	}
}

// TestEnding: when the process ends, a call that has not been sent is not sent there, and is made where the run is continued. The call that was
// sent ends as usual.
func TestEnding(t *testing.T) {
	state, n := newState(t), 0
	ending := make(chan struct{})
	up := answerer(func(context.Context, string, json.RawMessage, *upstream.CallOptions) (*upstream.CallResult, error) {
		if n++; n == 1 {
			close(ending)
		}
		return structured(fmt.Sprintf(`{"n":%d}`, n)), nil
	})
	w := newTestCalls(t, up, trusted, Settings{Journal: execution(t, state), Ending: ending}, "")
	wants(t, w.do(t.Context(), "crm__send", `{"id":1}`), `{"n":1}`)
	ctx, cut := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cut()
	for _, tool := range []string{"crm__send", "crm__get"} {
		if got := w.do(ctx, tool, `{"id":2}`); ctx.Err() == nil || n != 1 {
			t.Errorf("%s = %s and %d calls before the end, want none to be sent", tool, got, n)
		}
	}
	w = newTestCalls(t, up, trusted, Settings{Journal: execution(t, state)}, "")
	for i, id := range []string{"1", "2"} {
		wants(t, w.do(t.Context(), "crm__send", `{"id":`+id+`}`), fmt.Sprintf(`{"n":%d}`, i+1))
	}
}

// memoryLogs keeps logs in memory.
type memoryLogs struct {
	store.Logs
	lines []store.Line
	fails error
}

func (m *memoryLogs) AppendLine(_ context.Context, _ store.Key, value []byte) (int64, error) {
	if m.fails != nil {
		return 0, m.fails
	}
	m.lines = append(m.lines, store.Line{Number: int64(len(m.lines)) + 1, Value: value})
	return int64(len(m.lines)), nil
}

func (m *memoryLogs) Lines(_ context.Context, _ store.Key, after int64, each func(store.Line) error) error {
	for _, l := range m.lines[after:] {
		if err := each(l); err != nil {
			return err
		}
	}
	return nil
}

// TestNewCalls: a script that is not deterministic sends nothing that it may have sent before.
func TestNewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs, d, n := &memoryLogs{}, &deadly{}, 0
		w := newTestCalls(t, d, trusted, Settings{Journal: execution(t, logs)}, "")
		w.do(t.Context(), "crm__send", `{"at":10}`)
		d.dies(t, w, "crm__send", `{"at":11}`)
		w.do(t.Context(), "crm__get", `{"id":10}`)
		for range 2 {
			w = newTestCalls(t, counted(&n), trusted, Settings{Journal: execution(t, logs)}, "")
			if got := w.do(t.Context(), "crm__get", `{"id":20}`); got != `{"n":1}` {
				t.Errorf("a call that changes nothing = %s", got)
			}
			_, err := w.handler(t.Context(), &call.Request{Tool: "crm__send", Args: json.RawMessage(`{"at":20}`)})
			wants(t, outcomeOf(nil, err), "unknown: unknown whether this call was made already")
			if _, ok := errors.AsType[*call.UnknownError](err); !ok || n != 1 {
				t.Errorf("crm__send = %#v and %d calls, want an UnknownError and one", err, n)
			}
		}
		// Concurrent calls may come in another order.
		w = newTestCalls(t, counted(&n), trusted, Settings{Journal: execution(t, logs)}, "")
		go func() {
			time.Sleep(patienceOfTests)
			w.do(t.Context(), "crm__send", `{"at":11}`)
			w.do(t.Context(), "crm__send", `{"at":10}`)
		}()
		if got := w.do(t.Context(), "crm__send", `{"at":30}`); got != `{"n":1}` || n != 2 {
			t.Errorf("crm__send = %s and %d calls, want a result and two", got, n)
		}
	})
}

const patienceOfTests = 5 * time.Second

// TestWaitingForApproval: a call that waited for a person is asked about again.
func TestWaitingForApproval(t *testing.T) {
	state, n := newState(t), 0
	ctx, die := context.WithCancel(t.Context())
	set := Settings{Policy: decide(policy.Ask), Journal: execution(t, state)}
	set.Approver = approverFunc(func(ctx context.Context, _ *approve.Question) (approve.Answer, error) {
		die()
		return approve.Answer{}, ctx.Err()
	})
	wants(t, newTestCalls(t, counted(&n), nil, set, "").do(ctx, "crm__send", `{}`), "cancelled")
	set.Journal = execution(t, state)
	set.Approver = approverFunc(func(context.Context, *approve.Question) (approve.Answer, error) {
		return approve.Answer{Scope: approve.Once}, nil
	})
	wants(t, newTestCalls(t, counted(&n), nil, set, "").do(t.Context(), "crm__send", `{}`), `{"n":1}`)
	if n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
}

// TestIntents: what is sent was announced, once.
func TestIntents(t *testing.T) {
	logs, tries := &memoryLogs{}, 0
	up := answerer(func(_ context.Context, _ string, _ json.RawMessage, _ *upstream.CallOptions) (*upstream.CallResult, error) {
		if tries++; tries == 1 {
			return nil, &upstream.ConnectionError{Server: "crm", Reason: "it is not there", NotSent: true}
		}
		return structured(`{"n":1}`), nil
	})
	w := newTestCalls(t, up, trusted, Settings{Journal: execution(t, logs)}, "")
	wants(t, w.do(t.Context(), "crm__send", `{"id":1}`), `{"n":1}`)
	if tries != 2 || len(logs.lines) != 3 {
		t.Errorf("%d tries and %d lines, want 2 and 3", tries, len(logs.lines))
	}
	logs.fails = store.ErrFull
	wants(t, w.do(t.Context(), "crm__send", `{"id":2}`), "internal: nothing was sent, because the journal of the run cannot be used")
	wants(t, w.do(t.Context(), "crm__get", `{"id":2}`), `{"n":1}`)
	if tries != 3 {
		t.Errorf("%d tries, want 3", tries)
	}
	logs.fails = nil
	execution(t, logs)
	wants(t, w.do(t.Context(), "crm__send", `{"id":3}`), "internal: nothing was sent: another process has taken the run over")
	if tries != 3 {
		t.Errorf("%d tries, want 3", tries)
	}
}

// TestOutcomeThatIsNotKept: the script has a result that the journal has not.
func TestOutcomeThatIsNotKept(t *testing.T) {
	logs := &memoryLogs{}
	up := answerer(func(context.Context, string, json.RawMessage, *upstream.CallOptions) (*upstream.CallResult, error) {
		logs.fails = store.ErrFull
		return structured(`{"n":1}`), nil
	})
	wants(t, newTestCalls(t, up, nil, Settings{Journal: execution(t, logs)}, "").do(t.Context(), "crm__send", `{}`), `{"n":1}`)
	logs.fails = nil
	wants(t, newTestCalls(t, up, nil, Settings{Journal: execution(t, logs)}, "").do(t.Context(), "crm__send", `{}`), "unknown: unknown whether")
}

// TestContinuedRequests: resources are as they were.
func TestContinuedRequests(t *testing.T) {
	state := newState(t)
	ask := call.Ask{Method: "resources/read", Params: json.RawMessage(`{"server":"crm","uri":"x"}`)}
	value, err := newTestCalls(t, library{}, nil, Settings{Journal: execution(t, state)}, "").Answerer()(t.Context(), &ask)
	if err != nil {
		t.Fatal(err)
	}
	again, err := newTestCalls(t, nil, nil, Settings{Journal: execution(t, state)}, "").Answerer()(t.Context(), &ask)
	if err != nil || string(again) != string(value) {
		t.Errorf("%s, %v, want %s", again, err, value)
	}
}

// TestHostMethods: a run that has changed something on the host is not continued.
func TestHostMethods(t *testing.T) {
	state, saved := newState(t), 0
	run := Run{Settings: Settings{Journal: execution(t, state)}, Answers: map[string]func(context.Context, json.RawMessage) (json.RawMessage, error){
		"tools/search": func(context.Context, json.RawMessage) (json.RawMessage, error) { return json.RawMessage(`[]`), nil },
		"skills/save": func(context.Context, json.RawMessage) (json.RawMessage, error) {
			saved++
			return json.RawMessage(`{}`), nil
		},
	}}
	ch := newTestCalls(t, nil, nil, Settings{}, "").chain
	for _, method := range []string{"tools/search", "skills/save"} {
		c, err := ch.NewCalls(t.Context(), run)
		if err != nil {
			t.Fatalf("NewCalls() before %s = %v", method, err)
		}
		if _, err := c.Answerer()(t.Context(), &call.Ask{Method: method}); err != nil {
			t.Fatal(err)
		}
		run.Settings.Journal = execution(t, state)
	}
	if _, err := ch.NewCalls(t.Context(), run); err == nil || err.Error() != "the run called skills/save before its process ended, and is not repeated" {
		t.Errorf("NewCalls() = %v", err)
	}
	logs := &memoryLogs{}
	run.Settings.Journal = execution(t, logs)
	logs.fails = store.ErrFull
	c, err := ch.NewCalls(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Answerer()(t.Context(), &call.Ask{Method: "skills/save"}); err == nil || saved != 1 {
		t.Errorf("skills/save with a full disk = %v, saved %d times, want an error and once", err, saved)
	}
}

// TestContinuedResults: what the stages above make of a result, they make again.
func TestContinuedResults(t *testing.T) {
	state := newState(t)
	large := `{"n":1,"to":"ann@example.com","text":"` + strings.Repeat("x", 100_000) + `"}`
	personal := func(first string) *Personal {
		open := piitest.Vault(t)
		p := &Personal{Outlet: pii.NewOutlet(open, pii.OutletSettings{}), Mode: config.PIIBridge}
		p.Mask(first)
		return p
	}
	n := 0
	up := answerer(func(_ context.Context, tool string, args json.RawMessage, _ *upstream.CallOptions) (*upstream.CallResult, error) {
		if n++; tool == "send" && string(args) != `{"to":"ann@example.com"}` {
			t.Errorf("crm__send %s", args)
		}
		return structured(large), nil
	})
	for i, p := range []*Personal{personal(""), personal("bob@example.com")} { // the second has another number for Ann
		dir := t.TempDir()
		w := newTestCalls(t, up, trusted, Settings{Journal: execution(t, state), Personal: p, MaxResult: 1000}, dir)
		var h handle
		if err := json.Unmarshal([]byte(w.do(t.Context(), "crm__get", `{"id":1}`)), &h); err != nil {
			t.Fatal(err)
		}
		token := fmt.Sprintf("[EMAIL_%d]", i+1)
		data, err := os.ReadFile(filepath.Join(dir, ".mcprun", "results", filepath.Base(h.Path)))
		if err != nil || !strings.Contains(string(data), token) || strings.Contains(string(data), "ann@") || len(data) < 100_000 {
			t.Errorf("file of execution %d: %.100s, %v, want one with %s", i+1, data, err, token)
		}
		w.do(t.Context(), "crm__send", `{"to":"`+token+`"}`)
	}
	if n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
}
