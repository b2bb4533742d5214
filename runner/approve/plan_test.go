package approve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/risk"
)

type decider policy.Effect

func (d decider) Decide(context.Context, *policy.Request) policy.Decision {
	return policy.Decision{Effect: policy.Effect(d), Rule: "inner"}
}

// approved stores a plan of calls, each TOOL followed by its arguments.
func approved(t *testing.T, dir string, loosen Loosen, calls ...string) (*Plans, *Plan) {
	t.Helper()
	return approvedWith(t, dir, nil, loosen, calls...)
}

func approvedWith(t *testing.T, dir string, ring Keyring, loosen Loosen, calls ...string) (*Plans, *Plan) {
	t.Helper()
	plans, err := OpenPlans(dir, []byte("secret"), ring)
	if err != nil {
		t.Fatal(err)
	}
	var list []Call
	for _, text := range calls {
		tool, args, _ := strings.Cut(text, " ")
		list = append(list, Call{Tool: tool, Arguments: json.RawMessage(args), Masked: json.RawMessage(args), Rule: "rule \"writes ask\", mcpgen.yaml:4"})
	}
	p, err := plans.New(list, loosen)
	if err != nil {
		t.Fatal(err)
	}
	p.Digest, p.Lock, p.By, p.Until = "d", "l", "ann", time.Now().Add(time.Hour)
	if err := plans.Save(p); err != nil {
		t.Fatal(err)
	}
	p, err = plans.Open(p.ID, &Plan{Digest: "d", Lock: "l"})
	if err != nil {
		t.Fatal(err)
	}
	return plans, p
}

// TestPlanShowsRealValues to whoever approves it, and stores tokens.
func TestPlanShowsRealValues(t *testing.T) {
	dir := t.TempDir()
	plans, err := OpenPlans(dir, []byte("secret"), nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plans.New([]Call{{Tool: "send", Arguments: json.RawMessage(`{"to":"ann@example.com"}`), Masked: json.RawMessage(`{"to":"[EMAIL_1]"}`)}}, Loosen{})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := (&Question{Plan: p}).View(MaxTerminal); err != nil || !strings.Contains(strings.Join(v.Lines, "\n"), `to = "ann@example.com"`) {
		t.Errorf("shown: %+v, %v, want %q in it and no error", v, err, `to = "ann@example.com"`)
	}
	if err := plans.Save(p); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(plans.path(p.ID))
	if err != nil || strings.Contains(string(text), "ann@") || !strings.Contains(string(text), "[EMAIL_1]") {
		t.Errorf(`stored: %s, %v, want no "ann@" in it, "[EMAIL_1]" in it and no error`, text, err)
	}
}

func decide(d policy.Decider, text string, hints policy.Hints) policy.Decision {
	tool, args, _ := strings.Cut(text, " ")
	return d.Decide(context.Background(), &policy.Request{Tool: tool, Args: json.RawMessage(args), Hints: hints, Run: &policy.Run{}})
}

func TestPlanAllowsExactlyItsCalls(t *testing.T) {
	for name, c := range map[string]struct {
		loosen Loosen
		calls  []string
		want   map[string]string // not in order: calls are independent
		inner  policy.Effect
	}{
		"exact": {calls: []string{`put {"a":1,"b":{"y":[1],"x":2}}`, `put {"a":9007199254740993}`}, want: map[string]string{
			`put { "b": {"x":2,"y":[1]}, "a":1}`: "allow", `put {"a":9007199254740993}`: "allow", `put {"a":9007199254740992}`: "ask", `put {"a":1}`: "ask",
			`put {"a":1,"b":{"y":[1],"x":2},"c":0}`: "ask", `PUT {"a":9007199254740993}`: "ask", `del {"a":1}`: "ask", `put {"a":"1"}`: "ask",
		}},
		"unknown yet": {calls: []string{`add {"to":"<result of call 1>","n":1}`}, want: map[string]string{`add {"to":"x","n":2}`: "ask", `add {"to":{"id":7},"n":1}`: "allow"}},
		"any":         {loosen: Loosen{Any: []string{"put.a"}}, calls: []string{`put {"a":1,"b":1}`}, want: map[string]string{`put {"a":2,"b":2}`: "ask", `put {"a":5,"b":1}`: "allow"}},
		"denied":      {calls: []string{`put {"a":1}`}, inner: policy.Deny, want: map[string]string{`put {"a":1}`: "deny"}},
		"asked":       {calls: []string{`put {"a":1}`}, inner: policy.Ask, want: map[string]string{`put {"a":1}`: "allow", `put {"a":2}`: "ask"}},
	} {
		plans, p := approved(t, t.TempDir(), c.loosen, c.calls...)
		if c.inner == "" {
			c.inner = policy.Allow
		}
		d := plans.Allow(decider(c.inner), p)
		for text, want := range c.want {
			got := decide(d, text, policy.Hints{})
			if string(got.Effect) != want || want == "allow" && got.By != "ann" {
				t.Errorf("%s: %s: %+v, want %s", name, text, got, want)
			}
			if again := decide(d, text, policy.Hints{}); again.Effect == policy.Allow {
				t.Errorf("%s: %s is allowed twice", name, text)
			}
		}
		if got := decide(d, `get {}`, policy.Hints{ReadOnly: true}); got.Effect != c.inner {
			t.Errorf("%s: reading: %+v, want %s", name, got, c.inner)
		}
	}
}

// A person sees the risk of the script, and which rule asks about each call.
func TestPlanShowsRiskAndRules(t *testing.T) {
	_, p := approved(t, t.TempDir(), Loosen{}, `pay {"to":"ann"}`)
	v, err := (&Question{Plan: p, Risk: risk.High}).View(MaxTerminal)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  Asked by: rule \"writes ask\", mcpgen.yaml:4", "Risk: high"} {
		if !slices.Contains(v.Lines, want) {
			t.Errorf("View() = %q, want a line %q", v.Lines, want)
		}
	}
}

func TestPlanOfALoop(t *testing.T) {
	plans, p := approved(t, t.TempDir(), Loosen{Most: map[string]int{"set": 3}}, `set {"id":1,"to":"a"}`, `set {"id":2,"to":"b"}`, `set {"id":3}`)
	d := plans.Allow(decider(policy.Allow), p)
	for i, c := range []struct {
		call string
		want policy.Effect
	}{
		{`set {"id":3,"to":"a"}`, policy.Ask}, {`set {"id":1,"to":"b"}`, policy.Allow}, {`set {"id":1,"to":"b"}`, policy.Allow},
		{`set {"id":2}`, policy.Ask}, {`set {"id":2,"to":"a"}`, policy.Allow}, {`set {"id":2,"to":"a"}`, policy.Ask},
	} {
		if got := decide(d, c.call, policy.Hints{}); got.Effect != c.want {
			t.Errorf("%d: %s: %+v, want %s", i, c.call, got, c.want)
		}
	}
}

func TestPlanIsForOneRun(t *testing.T) {
	dir := t.TempDir()
	plans, p := approved(t, dir, Loosen{}, `put {"a":1}`, `put {"a":2}`)
	other, err := plans.Open(p.ID, &Plan{Digest: "d", Lock: "l"})
	if err != nil {
		t.Fatal(err)
	}
	first, second := plans.Allow(decider(policy.Allow), p), plans.Allow(decider(policy.Allow), other)
	if got := decide(first, `put {"a":1}`, policy.Hints{}); got.Effect != policy.Allow {
		t.Errorf("%+v, want Effect %v", got, policy.Allow)
	}
	if got := decide(second, `put {"a":2}`, policy.Hints{}); got.Effect != policy.Ask || got.Reason != "another run has already used the plan" {
		t.Errorf(`a second run: %+v, want Effect %v and Reason "another run has already used the plan"`, got, policy.Ask)
	}
	if got := decide(first, `put {"a":2}`, policy.Hints{}); got.Effect != policy.Allow {
		t.Errorf("%+v, want Effect %v", got, policy.Allow)
	}
	if _, err := plans.Open(p.ID, &Plan{Digest: "d", Lock: "l"}); err == nil || !strings.Contains(err.Error(), "already used") {
		t.Errorf(`a third run: %v, want an error and "already used" in it`, err)
	}
}

// ring is a keyring; nil does not work.
type ring map[string]string

func (r ring) Get(name string) (string, error) {
	if r == nil {
		return "", errors.ErrUnsupported
	}
	if _, ok := r[name]; !ok {
		return "", fs.ErrNotExist
	}
	return r[name], nil
}

func (r ring) Set(name, secret string) error {
	if r == nil {
		return errors.ErrUnsupported
	}
	r[name] = secret
	return nil
}

func (r ring) Delete(name string) error {
	_, err := r.Get(name)
	delete(r, name)
	return err
}

// TestRevivedPlan is what a server does that can write to the user's folder of plans, and even has the key.
func TestRevivedPlan(t *testing.T) {
	dir := t.TempDir()
	plans, p := approvedWith(t, dir, ring{}, Loosen{}, `put {"a":1}`)
	if got := decide(plans.Allow(decider(policy.Allow), p), `put {"a":1}`, policy.Hints{}); got.Effect != policy.Allow {
		t.Fatalf("%+v, want Effect %v", got, policy.Allow)
	}
	if err := os.Rename(plans.path(p.ID)+used, plans.path(p.ID)); err != nil {
		t.Fatal(err)
	}
	_, err := plans.Open(p.ID, &Plan{Digest: "d", Lock: "l"})
	if err == nil || !strings.Contains(err.Error(), "keyring has no entry for it") {
		t.Errorf(`a used plan: %v, want an error and "keyring has no entry for it" in it`, err)
	}
	if got := decide(plans.Allow(decider(policy.Allow), p), `put {"a":1}`, policy.Hints{}); got.Effect != policy.Ask {
		t.Errorf("a plan that was opened before it was used: %+v, want Effect %v", got, policy.Ask)
	}
	_, forged := approved(t, dir, Loosen{}, `del {}`)
	if _, err := plans.Open(forged.ID, &Plan{Digest: "d", Lock: "l"}); err == nil {
		t.Error("a forged plan was opened: got no error, want an error")
	}
	plans, p = approvedWith(t, dir, plans.ring, Loosen{}, `put {"a":1}`)
	p.By = "somebody"
	if err := errors.Join(os.Remove(plans.path(p.ID)), (&Plans{dir, plans.key, nil}).Save(p)); err != nil {
		t.Fatal(err)
	}
	if _, err := plans.Open(p.ID, &Plan{Digest: "d", Lock: "l"}); err == nil {
		t.Error("a plan that was forged in place of another was opened: got no error, want an error")
	}
	plans, p = approvedWith(t, dir, ring(nil), Loosen{}, `put {"a":1}`)
	if got := decide(plans.Allow(decider(policy.Allow), p), `put {"a":1}`, policy.Hints{}); got.Effect != policy.Allow {
		t.Errorf("without a keyring that works: %+v, want Effect %v", got, policy.Allow)
	}
}

// TestForgedPlan is what a server does that can write to the user's folder of plans, but does not have the key.
func TestForgedPlan(t *testing.T) {
	dir := t.TempDir()
	plans, p := approved(t, dir, Loosen{}, `put {"a":1}`)
	want := func() *Plan { return &Plan{Digest: "d", Lock: "l"} }
	for name, change := range map[string]func(w *Plan){
		"another script": func(w *Plan) { w.Digest = "x" }, "have changed": func(w *Plan) { w.Lock = "x" }, "customer": func(w *Plan) { w.Customer = "acme" },
	} {
		w := want()
		change(w)
		if _, err := plans.Open(p.ID, w); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %s", err, name)
		}
	}
	path := plans.path(p.ID)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("secret")) {
		t.Error("the key is in the file")
	}
	for _, forged := range [][]byte{bytes.Replace(text, []byte(`"tool":"put"`), []byte(`"tool":"del"`), 1), bytes.Replace(text, []byte(`"most":1`), []byte(`"most":9`), 1), []byte(`{"plan":null}`), nil} {
		if bytes.Equal(forged, text) {
			t.Fatal("nothing was changed")
		}
		if err := os.WriteFile(path, forged, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := plans.Open(p.ID, want()); err == nil {
			t.Errorf("a forged plan was accepted: %+v: got no error, want an error", got)
		}
	}
	if err := os.WriteFile(plans.path("aaaaaaaaaaaa"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"aaaaaaaaaaaa", "bbbbbbbbbbbb", "../plan", ""} {
		if _, err := plans.Open(id, want()); err == nil {
			t.Errorf("plan %q was opened: got no error, want an error", id)
		}
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	stranger, err := OpenPlans(dir, []byte("another secret"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Open(p.ID, want()); err == nil {
		t.Error("a plan of another key was opened: got no error, want an error")
	}
	if p.Until = time.Now().Add(-time.Second); decide(plans.Allow(decider(policy.Allow), p), `put {"a":1}`, policy.Hints{}).Effect != policy.Ask {
		t.Error("a plan allows calls after its end")
	}
}
