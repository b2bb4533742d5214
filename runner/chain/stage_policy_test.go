package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/internal/clock"
	"github.com/mcpgen/mcpgen/runner/policy"
)

// deciderFunc is a policy as a function.
type deciderFunc func(req *policy.Request) policy.Decision

func (f deciderFunc) Decide(_ context.Context, req *policy.Request) policy.Decision { return f(req) }

// approverFunc is a person as a function.
type approverFunc func(ctx context.Context, q *approve.Question) (approve.Answer, error)

func (f approverFunc) Approve(ctx context.Context, q *approve.Question) (approve.Answer, error) {
	return f(ctx, q)
}

// decide returns a policy that answers every call with one effect.
func decide(effect policy.Effect) policy.Decider {
	return deciderFunc(func(*policy.Request) policy.Decision {
		return policy.Decision{Effect: effect, Rule: "r", At: "mcpgen.yaml:7", Reason: "no"}
	})
}

// counted is a server that counts its calls.
func counted(n *int) answerer {
	return func(context.Context, string, json.RawMessage, *upstream.CallOptions) (*upstream.CallResult, error) {
		*n++
		return structured(`{"n":1}`), nil
	}
}

func TestPolicyDecides(t *testing.T) {
	answer := func(a approve.Answer, err error) approve.Approver {
		return approverFunc(func(context.Context, *approve.Question) (approve.Answer, error) { return a, err })
	}
	for _, c := range []struct {
		name     string
		effect   policy.Effect
		approver approve.Approver
		want     string
		calls    int
		by       string
	}{
		{"allowed", policy.Allow, nil, `{"n":1}`, 1, ""},
		{"denied", policy.Deny, answer(approve.Answer{Scope: approve.Run}, nil), `denied: policy: refused: no (rule "r", mcpgen.yaml:7)`, 0, ""},
		{"an unknown effect", "later", nil, "denied: policy: refused", 0, ""},
		{"nobody to ask", policy.Ask, nil, `denied: policy: approval is needed, but nobody can be asked here: no (rule "r", mcpgen.yaml:7)`, 0, ""},
		{"approved", policy.Ask, answer(approve.Answer{Scope: approve.Once, By: "ann"}, nil), `{"n":1}`, 1, "ann"},
		{"refused", policy.Ask, answer(approve.Answer{By: "ann"}, nil), `denied: policy: not approved by ann: no`, 0, "ann"},
		{"no answer", policy.Ask, answer(approve.Answer{}, nil), `denied: policy: not approved (nobody answered): no`, 0, ""},
		{"asking fails", policy.Ask, answer(approve.Answer{Scope: approve.Run}, errors.New("no screen")), `denied: policy: approval is needed, but asking failed: no screen`, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			w := newTestCalls(t, counted(&n), nil, Settings{Policy: decide(c.effect), Approver: c.approver}, "")
			wants(t, w.do(t.Context(), "crm__send", `{}`), c.want)
			rec := w.Finish().Calls[0]
			if n != c.calls || rec.Policy == nil || rec.Policy.Effect != c.effect || rec.Policy.By != c.by {
				t.Errorf("%d calls, decision %+v; want %d calls by %q", n, rec.Policy, c.calls, c.by)
			}
		})
	}
}

// TestAdvice: what an operator may do goes to the watcher once, and to nothing that a script or a model reads.
func TestAdvice(t *testing.T) {
	n := 0
	w := newTestCalls(t, counted(&n), nil, Settings{Policy: decide(policy.Ask)}, "")
	var told []string
	w.run.Watch = func(e Event) {
		if e.Kind == EventAdvice {
			told = append(told, e.Message)
		}
	}
	for range 2 {
		if text := w.do(t.Context(), "crm__send", `{}`); !strings.Contains(text, "nobody can be asked here") || strings.Contains(text, "--") {
			t.Errorf(`the script reads %q, want "nobody can be asked here" in it and no "--" in it`, text)
		}
	}
	if warnings := w.Finish().Warnings; len(warnings) != 0 {
		t.Errorf("warnings %q, want none", warnings)
	}
	if len(told) != 1 || !strings.Contains(told[0], "--allow crm__send") {
		t.Errorf("advice %q, want one text with the flag", told)
	}
}

func TestPolicySeesTheRealCall(t *testing.T) {
	var seen []*policy.Request
	see := deciderFunc(func(req *policy.Request) policy.Decision {
		seen = append(seen, req)
		return policy.Decision{Effect: policy.Deny, Rule: "r"}
	})
	n := 0
	w := newTestCalls(t, counted(&n), map[string]ServerSettings{"crm": {ReadOnly: []string{"get"}}}, Settings{Policy: see}, "")
	w.do(t.Context(), "crm__get", `{"ID":7}`)
	w.do(t.Context(), "crm__get", `{"id":"seven"}`)
	w.do(t.Context(), "crm__nothing", `{}`)
	for _, method := range []string{methodReadResource, methodResources, methodTemplates, methodPrompts, methodPrompt} {
		_, err := w.Answerer()(t.Context(), &call.Ask{Method: method, Params: json.RawMessage(`{"server":"crm","uri":"file:///a","name":"p"}`)})
		wants(t, err.Error(), "policy: refused")
	}
	if len(seen) != 6 || n != 0 {
		t.Fatalf("the policy saw %d calls and %d were made; want 6 and none", len(seen), n)
	}
	if r := seen[0]; r.Server != "crm" || r.Dir != "crm" || r.Name != "get" || r.Tool != "crm__get" || string(r.Args) != `{"id":7}` || !r.Hints.ReadOnly {
		t.Errorf("request = %+v", r)
	}
	if r := seen[1]; r.Server != "crm" || r.Name != methodReadResource || !strings.Contains(string(r.Args), "file:///a") || !r.Hints.ReadOnly {
		t.Errorf("request = %+v", r)
	}
}

// A server's setting holds with any rules and without, but not for requests of resources, whose arguments are ours.
func TestDeclaredArguments(t *testing.T) {
	n := 0
	w := newTestCalls(t, counted(&n), map[string]ServerSettings{"crm": {DeclaredOnly: true}}, Settings{}, "")
	wants(t, w.do(t.Context(), "crm__put", `{"id":1}`), `{"n":1}`)
	wants(t, w.do(t.Context(), "crm__put", `{"id":1,"bcc":"eve"}`), `denied: policy: refused: the tool does not declare the argument "bcc"; it declares id (rule "arguments: declared")`)
	if n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
	var asked []string
	see := deciderFunc(func(req *policy.Request) policy.Decision {
		asked = append(asked, fmt.Sprintf("%s %v %s", req.Name, req.DeclaredOnly, req.Input))
		return policy.Decision{Effect: policy.Deny}
	})
	w = newTestCalls(t, counted(&n), map[string]ServerSettings{"crm": {DeclaredOnly: true}}, Settings{Policy: see}, "")
	_, _ = w.Answerer()(t.Context(), &call.Ask{Method: methodReadResource, Params: json.RawMessage(`{"server":"crm","uri":"file:///a"}`)})
	want := `resources/read false {"type":"object","properties":{"server":{"type":"string"},"uri":{"type":"string"}},"required":["uri"]}`
	if len(asked) != 1 || asked[0] != want {
		t.Errorf("asked about %q, want %q", asked, want)
	}
}

func TestPolicyTools(t *testing.T) {
	server := catalog.Server{Key: "Front-Desk", Dir: "front_desk", Resources: true, HasPrompts: true}
	cat, err := catalog.New([]catalog.Server{server})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, tool := range New(Options{Catalog: cat}).Tools() {
		ids = append(ids, tool.ID)
		if !json.Valid(tool.Input) || tool.ID != policy.Scripts && (tool.Server != "Front-Desk" || tool.Dir != "front_desk") || !tool.Hints.ReadOnly {
			t.Errorf("tool = %+v", tool)
		}
	}
	read, err := validate.Compile(New(Options{Catalog: cat}).Tools()[0].Input)
	if err != nil {
		t.Fatal(err)
	}
	for args, ok := range map[string]bool{`{"uri": "x"}`: true, `{"server": "front_desk", "uri": "x"}`: true, `{}`: false} {
		if err := read.ValidateAs("args", json.RawMessage(args)); (err == nil) != ok {
			t.Errorf("arguments of resources/read %s: %v, want valid %v", args, err, ok)
		}
	}
	want := "front_desk__resources/read front_desk__resources/list front_desk__resources/templates front_desk__prompts/get front_desk__prompts/list scripts"
	if got := strings.Join(ids, " "); got != want {
		t.Errorf("Tools() = %s, want %s", got, want)
	}
}

func TestPolicyInDryRunAndReplay(t *testing.T) {
	n := 0
	w := newTestCalls(t, counted(&n), nil, Settings{Policy: decide(policy.Ask), DryRun: true}, "")
	wants(t, w.do(t.Context(), "crm__send", `{}`), `{"call":1}`)
	if rec := w.Finish().Calls[0]; n != 0 || rec.Outcome != OutcomeDry || !strings.Contains(rec.Skipped, "policy: ask: no") {
		t.Errorf(`record = %+v, want 0, Outcome %v and "policy: ask: no" in it`, rec, OutcomeDry)
	}
	w = newTestCalls(t, counted(&n), nil, Settings{Policy: decide(policy.Deny), DryRun: true}, "")
	wants(t, w.do(t.Context(), "crm__send", `{}`), "denied: policy: refused")

	var recording strings.Builder
	w = newTestCalls(t, counted(&n), nil, Settings{Record: &recording}, "")
	wants(t, w.do(t.Context(), "crm__send", `{}`), `{"n":1}`)
	w.Finish()
	for effect, want := range map[policy.Effect]string{policy.Deny: "denied: policy: refused", policy.Ask: `{"n":1}`} {
		w = newTestCalls(t, counted(&n), nil, Settings{Policy: decide(effect), Replay: strings.NewReader(recording.String())}, "")
		wants(t, w.do(t.Context(), "crm__send", `{}`), want)
	}
	if n != 1 {
		t.Errorf("%d calls were made, want 1", n)
	}
}

// TestApprovalTakesNoTime lets a person take an hour: the run, which may take a second, and the call, which the script gives a
// second, do not notice.
func TestApprovalTakesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked *approve.Question
		slow := approverFunc(func(ctx context.Context, q *approve.Question) (approve.Answer, error) {
			asked = q
			sleepFor(ctx, time.Hour)
			return approve.Answer{Scope: approve.Once}, nil
		})
		n := 0
		w := newTestCalls(t, counted(&n), nil, Settings{Policy: decide(policy.Ask), Approver: slow}, "")
		var over atomic.Bool
		run := clock.New(time.Second, time.Second, func(bool) { over.Store(true) })
		defer run.Stop()
		w.Begin(run)
		res, err := w.handler(t.Context(), &call.Request{Tool: "crm__send", Args: json.RawMessage(`{"to":"ann@example.com"}`), Timeout: time.Second})
		wants(t, outcomeOf(res, err), `{"n":1}`)
		synctest.Wait()
		if over.Load() || n != 1 {
			t.Errorf("the run is over: %v; calls: %d", over.Load(), n)
		}
		if asked.Tool != "crm__send" || string(asked.Arguments) != `{"to":"ann@example.com"}` || asked.Rule != `rule "r", mcpgen.yaml:7` {
			t.Errorf(`question = %+v, want Tool "crm__send", string(asked.Arguments) %q and Rule %q`, asked, `{"to":"ann@example.com"}`, `rule "r", mcpgen.yaml:7`)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !over.Load() {
			t.Error("the clock of the run stays held")
		}
	})
}

// TestQuestionsOfARun: they have the real values without secrets, one set of tokens, and the file that makes the call.
func TestQuestionsOfARun(t *testing.T) {
	var asked []*approve.Question
	yes := approverFunc(func(_ context.Context, q *approve.Question) (approve.Answer, error) {
		asked = append(asked, q)
		return approve.Answer{Scope: approve.Once}, nil
	})
	n := 0
	w := newTestCalls(t, concealing{counted(&n)}, nil, Settings{Policy: decide(policy.Ask), Approver: yes}, "")
	w.run.Script = "a.ts"
	w.run.Source = func(name string) (string, bool) { return "text of " + name, name == "lib/b.ts" }
	for i, at := range []string{"a.ts:1", "lib/b.ts:2", "lib/c.ts:3"} {
		args := fmt.Sprintf(`{"to":"p%d@example.com","key":"hunter2"}`, i)
		if _, err := w.handler(t.Context(), &call.Request{Tool: "crm__send", Args: json.RawMessage(args), At: at}); err != nil {
			t.Fatal(err)
		}
	}
	for i, source := range []string{"", "text of lib/b.ts", ""} {
		q := asked[i]
		if want := fmt.Sprintf(`{"to":"p%d@example.com","key":"${KEY}"}`, i); string(q.Arguments) != want || q.Source != source || q.Tokens == nil || q.Tokens != asked[0].Tokens {
			t.Errorf("question %d = %+v, want the arguments %s and the source %q", i, q, want, source)
		}
	}
}

// concealing is a server with a secret in its configuration.
type concealing struct{ answerer }

func (concealing) Conceal(text string) string { return strings.ReplaceAll(text, "hunter2", "${KEY}") }

func TestTaint(t *testing.T) {
	var taints []string
	look := deciderFunc(func(req *policy.Request) policy.Decision {
		taints = append(taints, strings.Join(req.Run.Taint(), ","))
		effect := policy.Allow
		if req.Name == "put" {
			effect = policy.Deny
		}
		return policy.Decision{Effect: effect}
	})
	n := 0
	w := newTestCalls(t, counted(&n), nil, Settings{Policy: look}, "")
	for _, tool := range []string{"crm__put", "crm__send", "crm__send"} {
		w.do(t.Context(), tool, `{}`)
	}
	if got := strings.Join(taints, "|"); got != "||crm" {
		t.Errorf("taint = %q, want %q", got, "||crm")
	}
}

// TestMaskedArguments are in the record of a call that a rule decided about: what policy and people saw, with tokens, and members that are
// large by their size.
func TestMaskedArguments(t *testing.T) {
	var u usage
	up := func(v json.RawMessage) json.RawMessage {
		return bytes.ReplaceAll(v, []byte("ann@x.org"), []byte("[EMAIL_1]"))
	}
	large := strings.Repeat("x", maxMember)
	many := `{"to":"ann@x.org"`
	for i := range 20 {
		many += fmt.Sprintf(`,"m%d":"%s"`, i, large[10:])
	}
	many += "}"
	for _, c := range []struct{ args, want string }{
		{`{"to":"ann@x.org"}`, `{"to":"[EMAIL_1]"}`},
		{`{"body":"` + large + `","to":"ann@x.org"}`, fmt.Sprintf(`{"body":"(%d bytes)","to":"[EMAIL_1]"}`, maxMember+2)},
		{many, fmt.Sprintf(`"(%d bytes)"`, len(many))},
	} {
		if got := u.decided(up, json.RawMessage(c.args)); got != c.want {
			t.Errorf("decided(%.40s) = %.100s, want %s", c.args, got, c.want)
		}
	}
	u.masked = maxAllMasked
	if got := u.decided(up, json.RawMessage(`{}`)); got != "" {
		t.Errorf(`a run that has kept enough keeps %q, want ""`, got)
	}
}
