package approve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/store"
)

type decider policy.Effect

func (d decider) Decide(context.Context, *policy.Request) policy.Decision {
	return policy.Decision{Effect: policy.Effect(d), Rule: "inner"}
}

// plansIn returns the plans of a state.
func plansIn(t *testing.T, s store.Store, ring Keyring) *Plans {
	t.Helper()
	return OpenPlans(keptIn(t, s, "secret", ring), "")
}

// approved stores a plan of calls, each TOOL followed by its arguments.
func approved(t *testing.T, s store.Store, loosen Loosen, calls ...string) (*Plans, *Plan) {
	t.Helper()
	return approvedWith(t, s, nil, loosen, calls...)
}

func approvedWith(t *testing.T, s store.Store, ring Keyring, loosen Loosen, calls ...string) (*Plans, *Plan) {
	t.Helper()
	plans := plansIn(t, s, ring)
	return plans, save(t, plans, loosen, calls...)
}

func save(t *testing.T, plans *Plans, loosen Loosen, calls ...string) *Plan {
	t.Helper()
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
	if err := plans.Save(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	p, err = plans.Open(t.Context(), p.ID, &Plan{Digest: "d", Lock: "l"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPlanShowsRealValues to whoever approves it, and stores tokens.
func TestPlanShowsRealValues(t *testing.T) {
	s := newState(t)
	plans := plansIn(t, s, nil)
	p, err := plans.New([]Call{{Tool: "send", Arguments: json.RawMessage(`{"to":"ann@example.com"}`), Masked: json.RawMessage(`{"to":"[EMAIL_1]"}`)}}, Loosen{})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := (&Question{Plan: p}).View(MaxTerminal); err != nil || !strings.Contains(strings.Join(v.Lines, "\n"), `to = "ann@example.com"`) {
		t.Errorf("shown: %+v, %v, want %q in it and no error", v, err, `to = "ann@example.com"`)
	}
	if err := plans.Save(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	text, _, err := plans.kept.read(t.Context(), planKind, p.ID, &planDocument{})
	if err != nil || strings.Contains(text, "ann@") || !strings.Contains(text, "[EMAIL_1]") {
		t.Errorf(`stored: %s, %v, want no "ann@" in it, "[EMAIL_1]" in it and no error`, text, err)
	}
	doc, err := s.Document(t.Context(), documentKey(planKind, p.ID))
	if err != nil || bytes.Contains(doc.Value, []byte("send")) {
		t.Errorf("the state has %q, %v, want a sealed value", doc.Value, err)
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
		plans, p := approved(t, newState(t), c.loosen, c.calls...)
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
	_, p := approved(t, newState(t), Loosen{}, `pay {"to":"ann"}`)
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
	plans, p := approved(t, newState(t), Loosen{Most: map[string]int{"set": 3}}, `set {"id":1,"to":"a"}`, `set {"id":2,"to":"b"}`, `set {"id":3}`)
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
	plans, p := approved(t, newState(t), Loosen{}, `put {"a":1}`, `put {"a":2}`)
	other, err := plans.Open(t.Context(), p.ID, &Plan{Digest: "d", Lock: "l"})
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
	if _, err := plans.Open(t.Context(), p.ID, &Plan{Digest: "d", Lock: "l"}); err == nil || !strings.Contains(err.Error(), "already used") {
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

// TestRevivedPlan is what a server does that can write to the state, and even has the key.
func TestRevivedPlan(t *testing.T) {
	s := newState(t)
	plans, p := approvedWith(t, s, ring{}, Loosen{}, `put {"a":1}`)
	key := documentKey(planKind, p.ID)
	before, err := s.Document(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	put := func(value []byte) {
		t.Helper()
		now, err := s.Document(t.Context(), key)
		if err == nil {
			now.Value = value
			p.version, err = s.SetDocument(t.Context(), now)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := decide(plans.Allow(decider(policy.Allow), p), `put {"a":1}`, policy.Hints{}); got.Effect != policy.Allow {
		t.Fatalf("%+v, want Effect %v", got, policy.Allow)
	}
	put(before.Value)
	_, err = plans.Open(t.Context(), p.ID, &Plan{Digest: "d", Lock: "l"})
	if err == nil || !strings.Contains(err.Error(), "keyring has no entry for it") {
		t.Errorf(`a used plan: %v, want an error and "keyring has no entry for it" in it`, err)
	}
	if got := decide(plans.Allow(decider(policy.Allow), p), `put {"a":1}`, policy.Hints{}); got.Effect != policy.Ask {
		t.Errorf("a plan that was opened before it was used: %+v, want Effect %v", got, policy.Ask)
	}
	_, forged := approved(t, s, Loosen{}, `del {}`)
	if _, err := plans.Open(t.Context(), forged.ID, &Plan{Digest: "d", Lock: "l"}); err == nil {
		t.Error("a forged plan was opened: got no error, want an error")
	}
	plans, p = approvedWith(t, s, plans.kept.opt.Ring, Loosen{}, `put {"a":1}`)
	p.By = "somebody"
	if err := errors.Join(s.DeleteDocument(t.Context(), documentKey(planKind, p.ID)), plansIn(t, s, nil).Save(t.Context(), p)); err != nil {
		t.Fatal(err)
	}
	if _, err := plans.Open(t.Context(), p.ID, &Plan{Digest: "d", Lock: "l"}); err == nil {
		t.Error("a plan that was forged in place of another was opened: got no error, want an error")
	}
	plans, p = approvedWith(t, s, ring(nil), Loosen{}, `put {"a":1}`)
	if got := decide(plans.Allow(decider(policy.Allow), p), `put {"a":1}`, policy.Hints{}); got.Effect != policy.Allow {
		t.Errorf("without a keyring that works: %+v, want Effect %v", got, policy.Allow)
	}
}

// TestForgedPlan is what a server does that can write to the state, but does not have the key.
func TestForgedPlan(t *testing.T) {
	s := newState(t)
	plans, p := approved(t, s, Loosen{}, `put {"a":1}`)
	want := func() *Plan { return &Plan{Digest: "d", Lock: "l"} }
	for name, change := range map[string]func(w *Plan){
		"another script": func(w *Plan) { w.Digest = "x" }, "have changed": func(w *Plan) { w.Lock = "x" }, "customer": func(w *Plan) { w.Customer = "acme" },
	} {
		w := want()
		change(w)
		if _, err := plans.Open(t.Context(), p.ID, w); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %s", err, name)
		}
	}
	doc, err := s.Document(t.Context(), documentKey(planKind, p.ID))
	if err != nil {
		t.Fatal(err)
	}
	_, other := approved(t, s, Loosen{}, `put {"a":1}`)
	moved, err := s.Document(t.Context(), documentKey(planKind, other.ID))
	if err != nil {
		t.Fatal(err)
	}
	for _, forged := range [][]byte{flipped(doc.Value, 0), flipped(doc.Value, len(doc.Value)-1), moved.Value, []byte(`{"plan":null}`), nil} {
		if doc.Version, err = s.SetDocument(t.Context(), &store.Document{Key: doc.Key, Value: forged, Version: doc.Version}); err != nil {
			t.Fatal(err)
		}
		if got, err := plans.Open(t.Context(), p.ID, want()); err == nil || !strings.Contains(err.Error(), "mcprun did not write it") {
			t.Errorf(`a forged plan: %+v, %v, want an error and "mcprun did not write it" in it`, got, err)
		}
	}
	for _, id := range []string{"bbbbbbbbbbbb", "../plan", ""} {
		if _, err := plans.Open(t.Context(), id, want()); err == nil {
			t.Errorf("plan %q was opened: got no error, want an error", id)
		}
	}
	if _, err := OpenPlans(keptIn(t, s, "another secret", nil), "").Open(t.Context(), other.ID, want()); err == nil {
		t.Error("a plan of another key was opened: got no error, want an error")
	}
	if p.Until = time.Now().Add(-time.Second); decide(plans.Allow(decider(policy.Allow), p), `put {"a":1}`, policy.Hints{}).Effect != policy.Ask {
		t.Error("a plan allows calls after its end")
	}
}

// flipped returns a value with one bit changed.
func flipped(value []byte, at int) []byte {
	out := bytes.Clone(value)
	out[at] ^= 1
	return out
}

// oldPlan writes a plan as earlier versions of mcprun did, and returns it.
func oldPlan(t *testing.T, plans *Plans, ring Keyring) *Plan {
	t.Helper()
	p, err := plans.New([]Call{{Tool: "put", Arguments: json.RawMessage(`{"a":1}`)}}, Loosen{})
	if err != nil {
		t.Fatal(err)
	}
	p.Digest, p.Lock, p.By, p.Until = "d", "l", "ann", time.Now().Add(time.Hour)
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	file, err := json.Marshal(map[string]any{"plan": json.RawMessage(text), "mac": plans.kept.mac("plan", string(text))})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(plans.old, p.ID+".json"), file, 0o600), ring.Set("plan-"+p.ID, Digest(string(text)))); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestOldPlan: a plan that an earlier version of mcprun has kept in a file is moved into the state when it is used, once.
func TestOldPlan(t *testing.T) {
	s, ring, want := newState(t), ring{}, &Plan{Digest: "d", Lock: "l"}
	kept := keptIn(t, s, "secret", ring)
	var said []string
	kept.opt.Say = func(line string) { said = append(said, line) }
	plans := OpenPlans(kept, t.TempDir())
	p := oldPlan(t, plans, ring)
	file := filepath.Join(plans.old, p.ID+".json")
	if _, err := plans.Open(t.Context(), p.ID, &Plan{Digest: "another"}); err == nil {
		t.Error("Open() = nil for another script, want an error")
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the plan that was not for this script has gone: %v", err)
	}
	opened, err := plans.Open(t.Context(), p.ID, want)
	if err != nil {
		t.Fatal(err)
	}
	if len(said) != 1 || !strings.Contains(said[0], file+".moved") {
		t.Errorf("said %q, want one line that names %s.moved", said, file)
	}
	if _, err := os.Stat(file + ".moved"); err != nil {
		t.Error(err)
	}
	if got := decide(plans.Allow(decider(policy.Ask), opened), `put {"a":1}`, policy.Hints{}); got.Effect != policy.Allow {
		t.Errorf("%+v, want Effect %v", got, policy.Allow)
	}
	if err := os.Rename(file+".moved", file); err != nil { // as if it had not been renamed
		t.Fatal(err)
	}
	if _, err := plans.Open(t.Context(), p.ID, want); err == nil || !strings.Contains(err.Error(), "already used") {
		t.Errorf(`a used plan: %v, want an error and "already used" in it`, err)
	}
	for name, change := range map[string]func(file string) error{
		"already used":            func(file string) error { return os.Rename(file, file+".used") },
		"mcprun did not write it": func(file string) error { return os.WriteFile(file, []byte(`{"plan":{},"mac":""}`), 0o600) },
		"no such plan":            os.Remove,
	} {
		p := oldPlan(t, plans, ring)
		if err := change(filepath.Join(plans.old, p.ID+".json")); err != nil {
			t.Fatal(err)
		}
		if _, err := plans.Open(t.Context(), p.ID, want); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("Open() = %v, want %q in it", err, name)
		}
	}
}
