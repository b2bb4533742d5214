package chain

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/pii/piitest"
	"github.com/mcpgen/mcpgen/runner/plugin"
	"github.com/mcpgen/mcpgen/runner/policy"
)

// hook is a plugin as a function. It notes what it sees.
type hook struct {
	decide func(e *plugin.Event) plugin.Answer

	mu   sync.Mutex
	seen []*plugin.Event
}

func (h *hook) Decide(_ context.Context, e *plugin.Event) (*plugin.Answer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = append(h.seen, e)
	answer := h.decide(e)
	return &answer, nil
}

// set returns a set with the hook.
func (h *hook) set(on ...plugin.Point) *plugin.Set {
	return plugin.New(plugin.Plugin{Name: "limit", Hook: h, On: on})
}

func allow(*plugin.Event) plugin.Answer { return plugin.Answer{Decision: plugin.Allow} }

// changeAt changes the value at a point.
func changeAt(point plugin.Point, value string) func(*plugin.Event) plugin.Answer {
	return func(e *plugin.Event) plugin.Answer {
		if e.Hook != point {
			return plugin.Answer{Decision: plugin.Allow}
		}
		return plugin.Answer{Decision: plugin.Change, Value: json.RawMessage(value)}
	}
}

func TestPluginsDeny(t *testing.T) {
	limit := &hook{decide: func(e *plugin.Event) plugin.Answer {
		var args struct{ Amount float64 }
		if err := json.Unmarshal(e.Arguments, &args); err != nil || args.Amount > 10_000 {
			return plugin.Answer{Decision: plugin.Deny, Reason: "over 10,000"}
		}
		return plugin.Answer{Decision: plugin.Allow}
	}}
	n := 0
	w := newTestCalls(t, counted(&n), nil, Settings{Plugins: limit.set(plugin.Call)}, "")
	if got := w.do(t.Context(), "crm__send", `{"amount":10000}`); strings.Contains(got, "denied") || n != 1 {
		t.Errorf("10,000: %s, %d calls made, want it made", got, n)
	}
	if got := w.do(t.Context(), "crm__send", `{"amount":10000.01}`); got != "denied: plugin limit: refused: over 10,000; nothing was sent" || n != 1 {
		t.Errorf("over 10,000: %s, %d calls made, want it refused", got, n)
	}
	if e := limit.seen[1]; e.Tool != "crm__send" || e.Server != "crm" || e.Name != "send" || e.Run != "run-x" || e.Call != 2 || string(e.Arguments) != `{"amount":10000.01}` {
		t.Errorf("the plugin saw %+v", e)
	}
	calls := w.Finish().Calls
	if calls[0].Plugins != nil || len(calls[1].Plugins) != 1 || calls[1].Plugins[0].String() != "plugin limit: refused: over 10,000" || calls[1].Outcome != "denied" {
		t.Errorf("records %+v", calls)
	}
}

// TestPluginsAreStricterOnly: policy and schema judge what a plugin has changed, and what it allows.
func TestPluginsAreStricterOnly(t *testing.T) {
	n := 0
	denies := deciderFunc(func(req *policy.Request) policy.Decision {
		if strings.Contains(string(req.Args), "7") {
			return policy.Decision{Effect: policy.Deny, Rule: "no sevens"}
		}
		return policy.Decision{Effect: policy.Allow}
	})
	do := func(decide func(*plugin.Event) plugin.Answer, args string) string {
		w := newTestCalls(t, counted(&n), nil, Settings{Policy: denies, Plugins: (&hook{decide: decide}).set()}, "")
		return w.do(t.Context(), "crm__put", args)
	}
	wants(t, do(allow, `{"id":7}`), "denied: policy: refused")
	wants(t, do(changeAt(plugin.Call, `{"id":7}`), `{"id":1}`), "denied: policy: refused")
	wants(t, do(changeAt(plugin.Call, `{"id":"one"}`), `{"id":1}`), "denied: plugin limit failed, and what it cannot check is refused: its changed value cannot be used: ")
	if n != 0 {
		t.Errorf("%d calls made, want none", n)
	}
	do(changeAt(plugin.Call, `{"id":2}`), `{"id":7}`)
	if n != 1 {
		t.Errorf("%d calls made, want 1: the policy judges the changed arguments", n)
	}
}

func TestPluginsChange(t *testing.T) {
	var sent string
	up := answerer(func(_ context.Context, _ string, args json.RawMessage, _ *upstream.CallOptions) (*upstream.CallResult, error) {
		sent = string(args)
		return structured(`{"n":1}`), nil
	})
	both := &hook{decide: func(e *plugin.Event) plugin.Answer {
		if e.Hook == plugin.Call {
			return plugin.Answer{Decision: plugin.Change, Value: json.RawMessage(`{"id":2}`)}
		}
		return plugin.Answer{Decision: plugin.Change, Value: json.RawMessage(`{"n":3}`)}
	}}
	w := newTestCalls(t, up, nil, Settings{Plugins: both.set()}, "")
	if got := w.do(t.Context(), "crm__get", `{"id":1}`); got != `{"n":3}` || sent != `{"id":2}` {
		t.Errorf("got %s, sent %s, want both changed", got, sent)
	}
	if rows := w.Finish().Calls[0].Plugins; len(rows) != 2 || rows[0].Hook != "call" || rows[1].Hook != "result" || rows[0].Decision != "change" || rows[0].From == rows[0].To {
		t.Errorf("the record has %+v, want both changes", rows)
	}
	for value, want := range map[string]string{`{"n":"x"}`: "its changed value cannot be used", `[]`: "the result is another kind of value than before"} {
		w = newTestCalls(t, always(`{"n":1}`), nil, Settings{Plugins: (&hook{decide: changeAt(plugin.Result, value)}).set()}, "")
		got := w.do(t.Context(), "crm__get", `{"id":1}`)
		wants(t, got, want)
		wants(t, got, "; the call was made, and its result is withheld")
	}
}

func TestPluginsWithhold(t *testing.T) {
	denies := &hook{decide: func(*plugin.Event) plugin.Answer { return plugin.Answer{Decision: plugin.Deny, Reason: "secret"} }}
	w := newTestCalls(t, always(`{"n":42}`), nil, Settings{Plugins: denies.set(plugin.Result)}, "")
	if got := w.do(t.Context(), "crm__get", `{"id":1}`); got != "denied: plugin limit: refused: secret; the call was made, and its result is withheld" {
		t.Errorf("got %s", got)
	}
	fails := answerer(func(context.Context, string, json.RawMessage, *upstream.CallOptions) (*upstream.CallResult, error) {
		return &upstream.CallResult{IsError: true, Content: []json.RawMessage{json.RawMessage(`{"type":"text","text":"42 is the secret"}`)}, Raw: json.RawMessage(`{"content":[{"type":"text","text":"42 is the secret"}],"isError":true}`)}, nil
	})
	w = newTestCalls(t, fails, nil, Settings{Plugins: denies.set(plugin.Result)}, "")
	if got := w.do(t.Context(), "crm__get", `{"id":1}`); strings.Contains(got, "42") || !strings.Contains(got, "its error is withheld") {
		t.Errorf("got %s, want the error withheld", got)
	}
	if e := denies.seen[1]; e.Error != "42 is the secret" || e.Result != nil {
		t.Errorf("the plugin saw %+v, want the error of the tool", e)
	}
	raw := &hook{decide: allow}
	w = newTestCalls(t, always(`{"n":42}`), nil, Settings{Plugins: raw.set(plugin.Result)}, "")
	if _, err := w.handler(t.Context(), &call.Request{Tool: "crm__get", Args: json.RawMessage(`{"id":1}`), Raw: true}); err != nil {
		t.Fatal(err)
	}
	if e := raw.seen[0]; !e.Raw || string(e.Result) != `{"structuredContent":{"n":42}}` {
		t.Errorf("the plugin saw %s, want the whole result", e.Result)
	}
}

// TestPluginsSeeTokens: in each mode that hides personal data, a plugin sees tokens, and what it changes has the values again where scripts and
// servers have them.
func TestPluginsSeeTokens(t *testing.T) {
	for mode, script := range map[config.PIIMode]string{config.PIIBridge: "[EMAIL_1]", config.PIIOutput: "ann@example.com"} {
		t.Run(string(mode), func(t *testing.T) {
			var sent string
			up := answerer(func(_ context.Context, _ string, args json.RawMessage, _ *upstream.CallOptions) (*upstream.CallResult, error) {
				sent = string(args)
				return structured(`{"to":"ann@example.com","n":1}`), nil
			})
			p := &Personal{Outlet: pii.NewOutlet(piitest.Vault(t), pii.OutletSettings{}), Mode: mode}
			h := &hook{decide: func(e *plugin.Event) plugin.Answer {
				value := e.Arguments
				if e.Hook == plugin.Result {
					value = e.Result
				}
				return plugin.Answer{Decision: plugin.Change, Value: json.RawMessage(strings.Replace(string(value), `"n":1`, `"n":2`, 1))}
			}}
			w := newTestCalls(t, up, nil, Settings{Plugins: h.set(), Personal: p}, "")
			for range 2 { // the second call has what the first one has returned
				got := w.do(t.Context(), "crm__send", `{"to":"`+script+`","n":1}`)
				if mode == config.PIIBridge && sent == "" { // no token was issued yet
					w.do(t.Context(), "crm__send", `{}`)
					continue
				}
				if got != `{"to":"`+script+`","n":2}` || sent != `{"to":"ann@example.com","n":2}` {
					t.Errorf("the script got %s, and the server %s", got, sent)
				}
			}
			for _, e := range h.seen {
				if text, _ := json.Marshal(e); strings.Contains(string(text), "ann@") {
					t.Errorf("the plugin saw %s, want tokens", text)
				}
			}
			for _, rec := range w.Finish().Calls {
				if text, _ := json.Marshal(rec); strings.Contains(string(text), "ann@") {
					t.Errorf("the record has %s", text)
				}
			}
		})
	}
}

// TestPluginsOfServersThatAreOff: a plugin sees the results of a server whose mode is off as they are, but what a script sends there may come from
// other servers.
func TestPluginsOfServersThatAreOff(t *testing.T) {
	var sent string
	up := answerer(func(_ context.Context, _ string, args json.RawMessage, _ *upstream.CallOptions) (*upstream.CallResult, error) {
		sent = string(args)
		return structured(`{"to":"ann@example.com"}`), nil
	})
	h := &hook{decide: func(e *plugin.Event) plugin.Answer {
		if e.Hook == plugin.Result {
			return plugin.Answer{Decision: plugin.Allow}
		}
		return plugin.Answer{Decision: plugin.Change, Value: json.RawMessage(strings.Replace(string(e.Arguments), `"n":1`, `"n":2`, 1))}
	}}
	for _, mode := range []config.PIIMode{config.PIIOutput, config.PIIBridge} {
		h.seen = nil
		off := &Personal{Outlet: pii.NewOutlet(piitest.Vault(t), pii.OutletSettings{}), Mode: mode, Servers: map[string]config.PIIMode{"crm": config.PIIOff}}
		w := newTestCalls(t, up, nil, Settings{Plugins: h.set(), Personal: off}, "")
		for _, to := range []string{"bob@example.com", "[EMAIL_1] and eve@example.com"} { // a token is sent as it is written
			if got := w.do(t.Context(), "crm__send", `{"to":"`+to+`","n":1}`); got != `{"to":"ann@example.com"}` || sent != `{"to":"`+to+`","n":2}` {
				t.Errorf("%s: the script got %s, and the server %s", mode, got, sent)
			}
		}
		for _, e := range h.seen {
			if args := string(e.Arguments); strings.Contains(args, "@") || !strings.Contains(args, "[EMAIL_") {
				t.Errorf("%s: the plugin saw the arguments %s, want tokens", mode, args)
			}
			if e.Hook == plugin.Result && string(e.Result) != `{"to":"ann@example.com"}` {
				t.Errorf("%s: the plugin saw the result %s", mode, e.Result)
			}
		}
	}
}

// TestPluginsInventTokens: a token that stands for nothing does not lead to a value.
func TestPluginsInventTokens(t *testing.T) {
	n := 0
	p := &Personal{Outlet: pii.NewOutlet(piitest.Vault(t), pii.OutletSettings{}), Mode: config.PIIOutput}
	w := newTestCalls(t, counted(&n), nil, Settings{Plugins: (&hook{decide: changeAt(plugin.Call, `{"to":"[EMAIL_99]"}`)}).set(), Personal: p}, "")
	wants(t, w.do(t.Context(), "crm__send", `{}`), "denied: plugin limit failed, and what it cannot check is refused: its changed value cannot be used: ")
	if n != 0 {
		t.Errorf("%d calls made, want none", n)
	}
}

// TestPluginsOfRequests: plugins judge reads of resources, whose parameters they cannot change.
func TestPluginsOfRequests(t *testing.T) {
	read := func(decide func(*plugin.Event) plugin.Answer) error {
		w := newTestCalls(t, always(`{}`), nil, Settings{Plugins: (&hook{decide: decide}).set()}, "")
		_, err := w.Answerer()(t.Context(), &call.Ask{Method: methodReadResource, Params: json.RawMessage(`{"server":"crm","uri":"file:///a"}`)})
		return err
	}
	denied := read(func(e *plugin.Event) plugin.Answer { return plugin.Answer{Decision: plugin.Deny, Reason: e.Tool} })
	if e, ok := errors.AsType[*call.Error](denied); !ok || e.Kind != call.KindDenied || !strings.Contains(e.Message, "crm__resources/read") {
		t.Errorf("a read that a plugin denies: %v", denied)
	}
	if err := read(changeAt(plugin.Call, `{"server":"x"}`)); err == nil || !strings.Contains(err.Error(), "cannot be changed") {
		t.Errorf("a read whose parameters a plugin changes: %v", err)
	}
}

// TestPluginsOfContinuedRuns: a call that the journal answers has what plugins have made of it, and they are not asked again.
func TestPluginsOfContinuedRuns(t *testing.T) {
	state := newState(t)
	h := &hook{decide: changeAt(plugin.Result, `{"n":2}`)}
	first := newTestCalls(t, always(`{"n":1}`), nil, Settings{Plugins: h.set(), Journal: execution(t, state)}, "")
	if got := first.do(t.Context(), "crm__get", `{"id":1}`); got != `{"n":2}` {
		t.Fatalf("got %s", got)
	}
	asked := len(h.seen)
	h.decide = func(*plugin.Event) plugin.Answer { return plugin.Answer{Decision: plugin.Deny} }
	n := 0
	again := newTestCalls(t, counted(&n), nil, Settings{Plugins: h.set(), Journal: execution(t, state)}, "")
	if got := again.do(t.Context(), "crm__get", `{"id":1}`); got != `{"n":2}` || n != 0 || len(h.seen) != asked {
		t.Errorf("got %s, %d calls made, %d questions, want the first result, no call and no question", got, n, len(h.seen)-asked)
	}
}
