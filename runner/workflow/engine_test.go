package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/upstream/elicit"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/durable"
	"github.com/mcpgen/mcpgen/runner/journal"
	"github.com/mcpgen/mcpgen/runner/store"
)

// newEngine returns an engine that runs parts with run, and closes it at the end of the test.
func newEngine(t *testing.T, place string, change func(*Options)) *Engine {
	t.Helper()
	s, err := openStore(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	work, err := durable.Open(t.Context(), durable.Options{State: place, Store: s})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Durable: work, State: s, Secret: make([]byte, 32), Run: func(context.Context, *Part) (*runner.Result, error) { return &runner.Result{}, nil }}
	if change != nil {
		change(&o)
	}
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(e.Close(context.Background()), s.Close()); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return e
}

func start(t *testing.T, e *Engine, p *Program, s Start) string {
	t.Helper()
	id, err := e.Start(t.Context(), p, s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// await waits until a workflow is in a state.
func await(t *testing.T, e *Engine, id string, until func(*Status) bool) *Status {
	t.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		s, err := e.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if until(s) {
			return s
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("the workflow %s stays %+v", id, s)
		}
	}
}

// TestChanged has a program whose files change while it waits: it is not continued until they are restored and somebody resumes it.
func TestChanged(t *testing.T) {
	var digest atomic.Value
	digest.Store("one")
	parts := 0
	e := newEngine(t, filepath.Join(t.TempDir(), "state.db"), func(o *Options) {
		o.Digest = func(context.Context, *Program) (string, error) { return digest.Load().(string), nil }
		o.Run = func(ctx context.Context, p *Part) (*runner.Result, error) {
			if parts++; p.Number == 1 {
				digest.Store("two")
				return &runner.Result{Cause: runner.CauseSuspended, Waits: []journal.Step{{Kind: journal.StepWait, Topic: "go"}}}, nil
			}
			s := p.Journal.Step(journal.StepWait, "", "go")
			s.Topic = "go"
			out, err := s.Receive(ctx)
			if err != nil || out == nil {
				return nil, errors.Join(err, errors.New("nothing came"))
			}
			return &runner.Result{Cause: runner.CauseExit, Value: out.Value}, nil
		}
	})
	if err := e.Launch(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := start(t, e, &Program{Name: "a.ts"}, Start{})
	if err := e.Send(t.Context(), id, "go", json.RawMessage("7")); err != nil {
		t.Fatal(err)
	}
	await(t, e, id, func(s *Status) bool { return s.Refused })
	if err := e.Resume(t.Context(), id); err != nil { // they are as they were before
		t.Fatal(err)
	}
	await(t, e, id, func(s *Status) bool { return s.Refused })
	digest.Store("one")
	if err := e.Resume(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	s := await(t, e, id, func(s *Status) bool { return s.State.Ended() })
	if s.State != durable.Done || string(s.Outcome.Result) != "7" || parts != 2 {
		t.Errorf("%s with %s after %d parts, want done with 7 after 2", s.State, s.Outcome.Result, parts)
	}
}

// TestEnds has workflows that end in several ways.
func TestEnds(t *testing.T) {
	results := map[string]*runner.Result{
		"well.ts": {Cause: runner.CauseExit, Value: json.RawMessage(`{"a":1}`)},
		"bad.ts":  {Cause: runner.CauseError, ExitCode: 1, Message: "so it was"},
	}
	release := make(chan bool)
	e := newEngine(t, filepath.Join(t.TempDir(), "state.db"), func(o *Options) {
		o.Ready = func(p *Program) error { p.Answers = map[string]Method{"workflow/eval": nil}; return nil }
		o.Run = func(ctx context.Context, p *Part) (*runner.Result, error) {
			s := &runner.Script{}
			if p.Apply(s); string(s.Vars["input"]) != "[1]" || len(s.Answers) != 1 || s.Calls.Workflow != p.ID || s.Calls.Journal == nil {
				t.Errorf("Apply() makes the script %+v", s)
			}
			switch p.Program.Name {
			case "never.ts":
				return nil, errors.New("no sandbox")
			case "long.ts":
				close(release)
				<-ctx.Done()
				return &runner.Result{Cause: runner.CauseInterrupted}, nil
			}
			return results[p.Program.Name], nil
		}
	})
	if err := e.Launch(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"well.ts": `done 0 {"a":1}`, "bad.ts": "failed 1 so it was", "never.ts": "failed 125 no sandbox"} {
		s, err := e.Wait(t.Context(), start(t, e, &Program{Name: name}, Start{Customer: "acme", Input: json.RawMessage("[1]")}))
		if err != nil {
			t.Fatal(err)
		}
		state, rest, _ := strings.Cut(want, " ")
		code, text, _ := strings.Cut(rest, " ")
		if out := s.Outcome; string(s.State) != state || (out.ExitCode == 0) != (code == "0") || out.Message+string(out.Result) != text || s.Name != name || s.Customer != "acme" {
			t.Errorf("%s: %+v with %+v, want %s", name, s, out, want)
		}
	}
	id := start(t, e, &Program{Name: "long.ts"}, Start{ID: "long", Input: json.RawMessage("[1]")})
	<-release
	if _, err := e.Start(t.Context(), &Program{}, Start{ID: "long"}); !errors.Is(err, durable.ErrExists) {
		t.Errorf("Start() of an id that exists = %v, want ErrExists", err)
	}
	if err := e.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if s, err := e.Wait(t.Context(), id); err != nil || s.State != durable.Cancelled || s.Outcome != nil {
		t.Errorf("Wait() = %+v, %v, want cancelled", s, err)
	}
	if err := e.Send(t.Context(), id, "go", json.RawMessage("1")); !errors.Is(err, durable.ErrEnded) {
		t.Errorf("Send() = %v, want ErrEnded", err)
	}
	if all, err := e.List(t.Context(), durable.Filter{}); err != nil || len(all) != 4 || all[0].ID != "long" {
		t.Errorf("List() = %+v, %v, want four, the last one first", all, err)
	}
}

// TestRefusals has requests that are wrong.
func TestRefusals(t *testing.T) {
	place := filepath.Join(t.TempDir(), "state.db")
	e := newEngine(t, place, nil)
	ctx := t.Context()
	for _, id := range []string{"../x", "-a", strings.Repeat("x", 65), "ä"} {
		if _, err := e.Start(ctx, &Program{}, Start{ID: id}); err == nil {
			t.Errorf("Start() takes the id %q", id)
		}
	}
	if _, err := e.Get(ctx, "nobody"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get() = %v, want ErrNotFound", err)
	}
	if err := e.Cancel(ctx, "nobody"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Cancel() = %v, want ErrNotFound", err)
	}
	if err := e.Launch(ctx); err != nil {
		t.Fatal(err)
	}
	id := start(t, e, &Program{Name: "a.ts"}, Start{})
	if err := e.Send(ctx, id, "go", json.RawMessage("{")); err == nil {
		t.Error("Send() takes what is no JSON")
	}
	question := &journal.Step{Name: "Which?", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`), Topic: "?"}
	if err := e.Answer(ctx, id, question, &elicit.Reply{Action: elicit.ActionAccept, Content: json.RawMessage(`{"n":"x"}`)}); !errors.Is(err, ErrFits) {
		t.Errorf("Answer() = %v, want ErrFits", err)
	}
	// With another key, it is listed and no more.
	other := newEngine(t, place, func(o *Options) { o.Secret = []byte("another secret, as long") })
	await(t, e, id, func(s *Status) bool { return s.State.Ended() })
	if all, err := other.List(ctx, durable.Filter{}); err != nil || len(all) != 1 || all[0].Name != "" || all[0].Outcome != nil {
		t.Errorf("List() with another key = %+v, %v", all, err)
	}
}
