package chain

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
)

// listing is a server whose list of tools takes a time, as do its calls, which then end in a way.
type listing struct {
	lists, answers time.Duration
	err            error
	calls          int
}

func (l *listing) Definition(ctx context.Context, _, tool string) (json.RawMessage, error) {
	if !sleepFor(ctx, l.lists) {
		return nil, ctx.Err()
	}
	return json.RawMessage(definitions[tool]), nil
}

func (l *listing) Call(ctx context.Context, _, _ string, _ json.RawMessage, _ *upstream.CallOptions) (*upstream.CallResult, error) {
	l.calls++
	switch {
	case !sleepFor(ctx, l.answers):
		return nil, ctx.Err()
	case l.err != nil:
		return nil, l.err
	}
	return structured(`{"n":1}`), nil
}

// TestScriptTimeoutBoundsAll checks that it covers all that follows a call's turn.
func TestScriptTimeoutBoundsAll(t *testing.T) {
	const never = time.Hour
	gone := &upstream.ConnectionError{Server: "crm", Reason: "it went away", NotSent: true}
	for name, c := range map[string]struct {
		up    listing
		own   time.Duration
		want  string
		took  time.Duration
		calls int

		repeatable []string
	}{
		"the list":            {listing{lists: never}, time.Second, `timeout (retryable): server "crm" did not list its tools within 1s, the timeout that the script gave;`, time.Second, 0, nil},
		"list and call":       {listing{lists: 700 * time.Millisecond, answers: never}, time.Second, "timeout: no answer within 1s, the timeout that the script gave", time.Second, 1, nil},
		"every try":           {listing{lists: 400 * time.Millisecond, answers: 400 * time.Millisecond, err: gone}, time.Second, `timeout (retryable): server "crm" did not list its tools within 1s`, time.Second, 1, nil},
		"a try that was sent": {listing{lists: 400 * time.Millisecond, answers: 400 * time.Millisecond, err: &upstream.ConnectionError{Server: "crm", Reason: "it went away"}}, time.Second, `timeout (retryable): no answer within 1s, the timeout that the script gave; it was being retried and was waiting for the list of tools of server "crm"`, time.Second, 1, []string{"send"}},
		"the call's, too":     {listing{lists: never}, 0, `timeout (retryable): server "crm" did not list its tools within 2s (--call-timeout, or timeout in mcpgen.yaml);`, 2 * time.Second, 0, nil},
		"after the list":      {listing{lists: time.Second, answers: never}, 0, `timeout: no answer and no progress within 2s (--call-timeout`, 2 * time.Second, 1, nil},
		"long enough both":    {listing{lists: time.Second, answers: 900 * time.Millisecond}, 3 * time.Second, `{"n":1}`, 1900 * time.Millisecond, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := c.up
				w := newTestCalls(t, &up, map[string]ServerSettings{"crm": {Idempotent: c.repeatable}}, Settings{Timeout: 2 * time.Second}, "")
				start := time.Now()
				res, err := w.handler(t.Context(), &call.Request{Tool: "crm__send", Args: json.RawMessage(`{}`), Timeout: c.own})
				wants(t, outcomeOf(res, err), c.want)
				if took := time.Since(start); took != c.took || up.calls != c.calls {
					t.Errorf("%v, %d calls; want %v, %d", took, up.calls, c.took, c.calls)
				}
			})
		})
	}
}

// deaf is a server that starts and never answers.
func deaf(key string) *upstream.Pool {
	srv := config.Server{Key: key, Transport: config.TransportStdio, Command: "sleep", Args: []string{"60"}, Dir: os.TempDir(), Protocol: config.ProtocolLegacy}
	return upstream.NewPool([]config.Server{srv}, &upstream.Options{Lookup: os.LookupEnv})
}

// TestScriptTimeoutBoundsStart, and says so: such a call was not sent.
func TestScriptTimeoutBoundsStart(t *testing.T) {
	pool := deaf("crm")
	defer pool.Close()
	w := newTestCalls(t, pool, nil, Settings{Timeout: time.Minute}, "")
	for range 2 {
		res, err := w.handler(t.Context(), &call.Request{Tool: "crm__get", Args: json.RawMessage(`{}`), Timeout: 200 * time.Millisecond})
		wants(t, outcomeOf(res, err), `timeout (retryable): server "crm" did not start within 200ms, the timeout that the script gave; nothing was sent`)
	}
	calls := w.Finish().Calls
	if len(calls) != 2 || calls[0].reached || calls[0].WaitingFor != "" {
		t.Errorf("calls %+v", calls)
	}
}

// TestTimeoutBeforeSending does not go on while its server is started once more.
func TestTimeoutBeforeSending(t *testing.T) {
	pool := deaf("crm")
	defer pool.Close()
	w := newTestCalls(t, answerer(func(ctx context.Context, tool string, args json.RawMessage, opt *upstream.CallOptions) (*upstream.CallResult, error) {
		return pool.Call(ctx, "crm", tool, args, opt) // without a definition first
	}), nil, Settings{Timeout: 50 * time.Millisecond}, "")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, ErrRunTimeout)
	defer cancel()
	wants(t, w.do(ctx, "crm__get", `{}`), `timeout: the run timed out while the call waited for server "crm" to start`)
	if calls := w.Finish().Calls; calls[0].reached {
		t.Error("it was not sent")
	}
}

// TestCallsInFlightBeyondTheList: a run with more calls than are listed names the one that it was waiting for.
func TestCallsInFlightBeyondTheList(t *testing.T) {
	u := &usage{}
	for i := range maxRecorded + 1 {
		u.add(CallRecord{Call: i + 1, Tool: "crm__get", reached: true}, nil, nil)
	}
	u.add(CallRecord{Call: maxRecorded + 2, Tool: "crm__send", WaitingFor: "its answer", WaitedMS: 9000}, nil, nil)
	if got, want := (&Calls{usage: u}).Finish().InFlight, "still in progress: crm__send (waiting for its answer for 9s)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
