package runner_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/policy"
)

func TestDirectCall(t *testing.T) {
	raw := json.RawMessage(`{"content":[{"type":"text","text":"3"}],"structuredContent":{"result":9007199254740993}}`)
	up := &fakeUpstreams{answers: map[string]*upstream.CallResult{"calculator/add": {Raw: raw}}}
	r := newRunner(t, up)
	res, rec, _, err := r.Call(t.Context(), runner.DirectCall{Tool: "calculator__add", Args: json.RawMessage(`{"numbers":[1,2]}`), Calls: chain.Settings{AllowDrift: true}})
	if err != nil {
		t.Fatal(err)
	}
	if string(res.Raw) != string(raw) || rec.Outcome != chain.OutcomeOK || rec.Tool != "calculator__add" {
		t.Errorf(`result %s, record %+v, want %v, Outcome %v and Tool "calculator__add"`, res.Raw, rec, string(raw), chain.OutcomeOK)
	}
	if len(up.seen) != 1 {
		t.Errorf("seen %q, want len(up.seen) 1", up.seen)
	}
}

func TestDirectCallIsChecked(t *testing.T) {
	up := &fakeUpstreams{}
	r := newRunner(t, up)
	for tool, want := range map[string]string{"calculator__ad": "calculator__add", "calculator__add": "nombers"} {
		_, rec, _, err := r.Call(t.Context(), runner.DirectCall{Tool: tool, Args: json.RawMessage(`{"nombers":[1]}`)})
		var bad *call.Error
		if !errors.As(err, &bad) || bad.Kind != call.KindArgument || !strings.Contains(bad.Message, want) || rec.Outcome != string(call.KindArgument) {
			t.Errorf("%s: %v, record %+v", tool, err, rec)
		}
	}
	if !slices.Equal(up.seen, nil) {
		t.Errorf("sent %q, want nil", up.seen)
	}
}

// TestDirectResultIsChecked: a result that breaks the tool's output schema is noticed as in scripts.
func TestDirectResultIsChecked(t *testing.T) {
	for raw, want := range map[string]string{
		`{"content":[],"structuredContent":{"result":3}}`:                   "",
		`{"content":[],"structuredContent":{"result":"three"}}`:             "does not match the tool's output schema",
		`{"content":[{"type":"text","text":"3"}],"structuredContent":null}`: "has no structured content",
		`{"content":[{"type":"text","text":"no"}],"isError":true}`:          "",
	} {
		r := newRunner(t, &fakeUpstreams{answers: map[string]*upstream.CallResult{"calculator/add": {Raw: json.RawMessage(raw)}}})
		d := runner.DirectCall{Tool: "calculator__add", Args: json.RawMessage(`{"numbers":[1,2]}`), Calls: chain.Settings{AllowDrift: true}}
		res, _, warnings, err := r.Call(t.Context(), d)
		if said := strings.Join(warnings, "\n"); err != nil || string(res.Raw) != raw || (said == "") != (want == "") || !strings.Contains(said, want) {
			t.Errorf("%s: warnings %q, %v; want %q", raw, said, err, want)
		}
		d.Calls.StrictOutput = true
		if _, _, _, err = r.Call(t.Context(), d); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s, strict: %v, want %q", raw, err, want)
		}
	}
}

// TestCallsOfAConversation: limits of a run and taint hold for the calls that a client makes without a script, one after another.
func TestCallsOfAConversation(t *testing.T) {
	raw := json.RawMessage(`{"content":[],"structuredContent":{"result":3}}`)
	r := newRunner(t, &fakeUpstreams{answers: map[string]*upstream.CallResult{"calculator/add": {Raw: raw}}})
	p, err := policy.New(&config.Policy{PolicyPart: config.PolicyPart{Rules: []config.PolicyRule{
		{Name: "three", Deny: config.Globs{"*"}, Over: &config.PolicyOver{Run: 2}},
		{Name: "tainted", Deny: config.Globs{"*"}, When: "'calculator' in taint && args.numbers.size() > 2"},
	}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var clients policy.Conversations
	do := func(customer, args string) string {
		_, _, _, err := r.Call(t.Context(), runner.DirectCall{Tool: "calculator__add", Args: json.RawMessage(args),
			Calls: chain.Settings{AllowDrift: true, Policy: p, Conversation: clients.Of(customer, "")}})
		if err != nil {
			return err.Error()
		}
		return ""
	}
	const two, three = `{"numbers":[1,2]}`, `{"numbers":[1,2,3]}`
	for i, c := range []struct{ customer, args, want string }{
		{"acme", three, ""}, {"acme", three, "tainted"}, {"acme", two, ""}, {"acme", two, "three"}, {"other", three, ""},
	} {
		if got := do(c.customer, c.args); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("call %d: %q, want %q", i, got, c.want)
		}
	}
}
