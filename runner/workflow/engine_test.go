package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/upstream/elicit"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/durable"
	"github.com/mcpgen/mcpgen/runner/journal"
	"github.com/mcpgen/mcpgen/runner/plugin"
	"github.com/mcpgen/mcpgen/runner/script"
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
	o := Options{Durable: work, State: s, Secret: make([]byte, 32), Run: func(context.Context, *Part) (*runner.Result, error) {
		return &runner.Result{Cause: runner.CauseExit}, nil
	}}
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
		o.Digest = func(context.Context, *Program) (string, error) {
			if now := digest.Load().(string); now != "broken" {
				return now, nil
			}
			return "", fmt.Errorf("a.ts imports b.ts: %w", &script.Error{Problems: []script.Problem{{Text: "half of it"}}})
		}
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
	if _, err := e.Send(t.Context(), id, "go", json.RawMessage("7")); err != nil {
		t.Fatal(err)
	}
	for part := range 2 {
		s, err := e.Wait(t.Context(), id, part+min(part, 1))
		want := []string{"has changed since the workflow " + id + " began; restore the files", "a.ts imports b.ts: half of it"}[part]
		if err != nil || s.State != Stopped || s.Stop.Part != part+2 || !strings.Contains(s.Stop.Reason, want) {
			t.Fatalf("Wait() = %+v with %+v, %v, want that it has stopped", s, s.Stop, err)
		}
		digest.Store([]string{"broken", "one"}[part]) // as while an editor writes the file
		if at, err := e.Resume(t.Context(), id); err != nil || at != part+2 {
			t.Fatalf("Resume() = %d, %v, want %d", at, err, part+2)
		}
	}
	s, err := e.Wait(t.Context(), id, 3)
	if err != nil {
		t.Fatal(err)
	}
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
				return nil, &script.Error{Problems: []script.Problem{{Text: "no such file"}}}
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
	for name, want := range map[string]string{"well.ts": `done 0 {"a":1}`, "bad.ts": "failed 1 so it was", "never.ts": "failed 1 no such file"} {
		s, err := e.Wait(t.Context(), start(t, e, &Program{Name: name}, Start{Customer: "acme", Input: json.RawMessage("[1]")}), 0)
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
	if s, err := e.Wait(t.Context(), id, 0); err != nil || s.State != durable.Cancelled || s.Outcome != nil {
		t.Errorf("Wait() = %+v, %v, want cancelled", s, err)
	}
	if _, err := e.Send(t.Context(), id, "go", json.RawMessage("1")); !errors.Is(err, durable.ErrEnded) {
		t.Errorf("Send() = %v, want ErrEnded", err)
	}
	if all, err := e.List(t.Context(), durable.Filter{}); err != nil || len(all) != 4 || all[0].ID != "long" {
		t.Errorf("List() = %+v, %v, want four, the last one first", all, err)
	}
}

// TestStops has parts that something else than their script ends: the workflow stops, and goes on with what it has received when it is resumed.
func TestStops(t *testing.T) {
	ends := []func() (*runner.Result, error){
		func() (*runner.Result, error) {
			return &runner.Result{Cause: runner.CauseSuspended, Waits: []journal.Step{{Kind: journal.StepWait, Topic: "go"}}}, nil
		},
		func() (*runner.Result, error) { return nil, errors.New("no sandbox") },
		func() (*runner.Result, error) {
			return nil, &runner.PluginError{Script: "a.ts", Denied: &plugin.DeniedError{Plugin: "rule", Reason: "not now"}}
		},
		func() (*runner.Result, error) {
			return &runner.Result{Cause: runner.CauseTimeout, ExitCode: exit.Timeout, Message: "the script was stopped after 3s (--timeout)"}, nil
		},
		func() (*runner.Result, error) {
			return &runner.Result{Cause: runner.CauseBridge, ExitCode: exit.Runner}, nil
		},
		func() (*runner.Result, error) {
			return &runner.Result{Cause: runner.CauseMemory, ExitCode: exit.Killed}, nil
		},
	}
	e := newEngine(t, filepath.Join(t.TempDir(), "state.db"), func(o *Options) {
		o.Run = func(ctx context.Context, p *Part) (*runner.Result, error) {
			if p.Number <= len(ends) {
				return ends[p.Number-1]()
			}
			s := p.Journal.Step(journal.StepWait, "", "go")
			s.Topic = "go"
			out, err := s.Receive(ctx)
			if err != nil || out == nil {
				return nil, errors.Join(err, errors.New("nothing came"))
			}
			call := p.Journal.Call("send#0", "crm__send", []byte("1"), false)
			return &runner.Result{Cause: runner.CauseError, ExitCode: 1, Message: string(out.Value)}, call.Intend(ctx)
		}
	})
	if err := e.Launch(t.Context()); err != nil {
		t.Fatal(err)
	}
	id, part := start(t, e, &Program{Name: "a.ts"}, Start{}), 0
	if _, err := e.Send(t.Context(), id, "go", json.RawMessage("7")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"125 no sandbox", "126 a.ts was not run: plugin rule: refused: not now", "124 the script was stopped after 3s (--timeout)", "125 its run ended: bridge", "137 its run ended: memory"} {
		s, err := e.Wait(t.Context(), id, part)
		if err != nil || s.State != Stopped || fmt.Sprint(s.Stop.ExitCode, " ", s.Stop.Reason) != want {
			t.Fatalf("Wait() = %+v with %+v, %v, want %s", s, s.Stop, err, want)
		}
		for range 2 { // a second one has no effect
			if part, err = e.Resume(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, err := e.Wait(t.Context(), id, part)
	if err != nil || s.State != durable.Unknown || s.Outcome.Message != "7" || fmt.Sprint(s.Unknown) != "[crm__send in send]" {
		t.Errorf("Wait() = %+v with %+v, %v, want the error of its script, and that a call is unknown", s, s.Outcome, err)
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
	if _, err := e.Send(ctx, id, "go", json.RawMessage("{")); err == nil {
		t.Error("Send() takes what is no JSON")
	}
	question := &journal.Step{Name: "Which?", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`), Topic: "?"}
	if _, err := e.Answer(ctx, id, question, &elicit.Reply{Action: elicit.ActionAccept, Content: json.RawMessage(`{"n":"x"}`)}); !errors.Is(err, ErrFits) {
		t.Errorf("Answer() = %v, want ErrFits", err)
	}
	await(t, e, id, func(s *Status) bool { return s.State.Ended() })
	for name, err := range map[string]error{
		"Send()": second(e.Send(ctx, id, "go", json.RawMessage("1"))), "Cancel()": e.Cancel(ctx, id),
	} {
		if !errors.Is(err, durable.ErrEnded) || err.Error() != "the workflow "+id+" has ended" {
			t.Errorf("%s of one that has ended = %v", name, err)
		}
	}
	// With another key, it is listed and no more.
	other := newEngine(t, place, func(o *Options) { o.Secret = []byte("another secret, as long") })
	if all, err := other.List(ctx, durable.Filter{}); err != nil || len(all) != 1 || all[0].Name != "" || all[0].Outcome != nil {
		t.Errorf("List() with another key = %+v, %v", all, err)
	}
}

func second(_ bool, err error) error { return err }

// TestAnswers has a question that is answered twice, by processes that do not run the workflow, and while no process does.
func TestAnswers(t *testing.T) {
	place, ctx := filepath.Join(t.TempDir(), "state.db"), t.Context()
	question := &journal.Step{Kind: journal.StepAsk, Name: "Which?", Topic: "?/Which?#0", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}
	run := func(o *Options) {
		o.Run = func(ctx context.Context, p *Part) (*runner.Result, error) {
			s := p.Journal.Step(journal.StepAsk, "", question.Name)
			s.Topic = question.Topic
			if out, err := s.Receive(ctx); err != nil || out != nil {
				return &runner.Result{Cause: runner.CauseExit, Value: out.Value}, err
			}
			return &runner.Result{Cause: runner.CauseSuspended, Waits: []journal.Step{*question}}, s.Begin(ctx)
		}
	}
	first, other := newEngine(t, place, run), newEngine(t, place, nil)
	if err := first.Launch(ctx); err != nil {
		t.Fatal(err)
	}
	id := start(t, first, &Program{Name: "a.ts"}, Start{})
	await(t, other, id, func(s *Status) bool { return s.Runs && len(s.Waits()) == 1 && s.State == durable.Waiting })
	if err := first.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if s, err := other.Get(ctx, id); err != nil || s.Runs {
		t.Errorf("Get() = %+v, %v, want that no process runs it", s, err)
	}
	reply := func(n int) *elicit.Reply {
		return &elicit.Reply{Action: elicit.ActionAccept, Content: fmt.Appendf(nil, `{"n":%d}`, n)}
	}
	if runs, err := other.Answer(ctx, id, question, reply(1)); err != nil || runs {
		t.Errorf("Answer() = %t, %v, want that no process runs it", runs, err)
	}
	if _, err := other.Answer(ctx, id, question, reply(2)); !errors.Is(err, ErrAnswered) {
		t.Errorf("a second Answer() = %v, want ErrAnswered", err)
	}
	last := newEngine(t, place, run)
	if err := last.Launch(ctx); err != nil {
		t.Fatal(err)
	}
	if s, err := last.Wait(ctx, id, 0); err != nil || !strings.Contains(string(s.Outcome.Result), `{"n":1}`) {
		t.Errorf("Wait() = %+v, %v, want the first answer", s, err)
	}
}
