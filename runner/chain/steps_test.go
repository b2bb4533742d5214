package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/journal"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/store"
)

// lines keeps logs in memory.
type lines struct {
	store.Logs
	logs map[store.Key][]store.Line
}

func (m *lines) AppendLine(_ context.Context, k store.Key, value []byte) (int64, error) {
	n := int64(len(m.logs[k])) + 1
	m.logs[k] = append(m.logs[k], store.Line{Number: n, Value: value})
	return n, nil
}

func (m *lines) Lines(_ context.Context, k store.Key, after int64, each func(store.Line) error) error {
	for _, l := range m.logs[k][after:] {
		if err := each(l); err != nil {
			return err
		}
	}
	return nil
}

var stepsKey = store.Key{Kind: "journal", Name: "run-1"}

// stepper is a run whose script asks for steps.
type stepper struct {
	*testing.T
	ctx  context.Context
	call call.Handler
	ask  call.Answerer
	*Calls
}

// newStepper begins an execution of the run. Its context ends when it is suspended. settings may be nil.
func newStepper(t *testing.T, logs store.Logs, up Upstreams, settings func(*Settings)) *stepper {
	t.Helper()
	set := Settings{Suspend: time.Second}
	if logs != nil {
		var err error
		if set.Journal, err = journal.Open(t.Context(), logs, stepsKey, make([]byte, 32)); err != nil {
			t.Fatal(err)
		}
	}
	if settings != nil {
		settings(&set)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	c, err := newTestCalls(t, up, nil, Settings{}, "").chain.NewCalls(ctx, Run{ID: "run-1", Settings: set, Suspend: func() { cancel(ErrSuspended) }, Methods: map[string]Method{
		"workflow/form": func(ctx context.Context, _ json.RawMessage, h *Host) (json.RawMessage, error) {
			_, err := h.Call(ctx, &call.Request{Tool: "crm__send", Args: json.RawMessage(`{"id":1}`)})
			return json.RawMessage("{}"), err
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return &stepper{T: t, ctx: ctx, call: c.Handler(), ask: c.Answerer(), Calls: c}
}

// want compares the answer to a method, or its error.
func (s *stepper) want(step int, method, params, want string) {
	s.Helper()
	raw, err := s.ask(s.ctx, &call.Ask{Method: "workflow/" + method, Params: json.RawMessage(params), Step: step})
	got := string(raw)
	if err != nil {
		got = err.Error()
	}
	if !strings.HasPrefix(got, want) || want == "" {
		s.Errorf("workflow/%s %s = %s, want %s", method, params, got, want)
	}
}

// send makes a call and compares how it ended with "", or the beginning of an error.
func (s *stepper) send(step int, want string) {
	s.Helper()
	_, err := s.call(s.ctx, &call.Request{Tool: "crm__send", Args: json.RawMessage(`{"id":1}`), Step: step})
	if got := fmt.Sprint(err); err == nil && want != "" || err != nil && (want == "" || !strings.Contains(got, want)) {
		s.Errorf("send in step %d = %v, want %q", step, err, want)
	}
}

// counting counts calls.
func counting(n *int) answerer {
	return func(context.Context, string, json.RawMessage, *upstream.CallOptions) (*upstream.CallResult, error) {
		*n++
		return structured(`{}`), nil
	}
}

// TestLargeStep keeps a result that has a log of its own.
func TestLargeStep(t *testing.T) {
	logs, large := &lines{logs: map[store.Key][]store.Line{}}, `"`+strings.Repeat("<é>", 30_000)+`"`
	s := newStepper(t, logs, nil, nil)
	s.want(0, "step", `{"name":"a"}`, `{"step":1}`)
	s.want(0, "done", `{"step":1,"value":[`+large+`]}`, `{"outcome":{"value":[`)
	s = newStepper(t, logs, nil, nil)
	raw, err := s.ask(s.ctx, &call.Ask{Method: methodStep, Params: json.RawMessage(`{"name":"a"}`)})
	var out struct{ Outcome struct{ Value []string } }
	if err := errors.Join(err, json.Unmarshal(raw, &out)); err != nil || len(out.Outcome.Value) != 1 || `"`+out.Outcome.Value[0]+`"` != large {
		t.Errorf("workflow/step = %.100s, %v, want the large value", raw, err)
	}
	if len(logs.logs) != 2 {
		t.Errorf("%d logs, want one of its own for the large value", len(logs.logs))
	}
}

func TestSteps(t *testing.T) {
	n, logs := 0, &lines{logs: map[store.Key][]store.Line{}}
	for round := range 2 {
		s := newStepper(t, logs, counting(&n), nil)
		if round == 0 {
			s.want(0, "step", `{"name":"a","input":[{"x":1}]}`, `{"step":1}`)
			s.send(1, "")
			s.want(1, "form", `{}`, `{}`)
			s.want(0, "done", `{"step":1,"value":[{"n":1}]}`, `{"outcome":{"value":[{"n":1}]}}`)
			s.want(0, "step", `{"name":"a"}`, `{"step":2}`)
			s.want(0, "done", `{"step":2,"error":{"kind":"","message":"no"},"name":"RangeError"}`, `{"outcome":{"error":{"kind":"","message":"no"},"name":"RangeError"}}`)
		} else {
			s.want(0, "step", `{"name":"a"}`, `{"outcome":{"value":[{"n":1}]}}`)
			s.want(0, "step", `{"name":"a"}`, `{"outcome":{"error":`)
		}
		// The same call outside, and in a step that has not finished, is another one.
		s.send(0, "")
		s.want(0, "step", `{"name":"open"}`, `{"step":`)
		s.send(3-2*round, "")
		s.want(0, "sleep", `{"time":0.001}`, `{}`)
		if round == 0 {
			s.want(3, "step", `{"name":"b"}`, `workflow/step: the step "b" begins in another one`)
			s.want(0, "done", `{"step":9,"value":[]}`, `workflow/done: no step 9 has begun`)
			s.want(0, "step", `{"name":""}`, `workflow/step: the name of a step must have 1 to 300 bytes`)
			s.want(0, "sleep", `{"time":"soon"}`, `workflow/sleep: the time is "soon"`)
			s.want(0, "sleep", `{"time":-1}`, `workflow/sleep: the time is -1`)
			s.want(0, "ask", `{"question":"?","schema":{"type":"array"}}`, `workflow/ask: its form`)
		}
		if round == 1 {
			s.send(0, "") // a new one: it waits for no call of the step that has finished
		}
		if sum := s.Finish(); sum.Steps[0].Replayed != (round == 1) || sum.Steps[0].OutputBytes != 7 || string(sum.Steps[0].Input) != `{"x":1}` || sum.Steps[1].Error != "no" {
			t.Errorf("round %d: steps %+v", round, sum.Steps)
		}
	}
	if n != 5 {
		t.Errorf("%d calls, want 5", n)
	}
	kept, err := journal.Read(t.Context(), logs, stepsKey, make([]byte, 32))
	if err != nil || len(kept.Steps) != 4 || kept.Steps[1].Path() != "a#1" || kept.Steps[2].Outcome != nil {
		t.Errorf("Read() = %+v, %v", kept, err)
	}
}

// TestPolicyOverParts has a run whose steps have finished in earlier parts: the policy decides as if there were one part.
func TestPolicyOverParts(t *testing.T) {
	rules := func(rules ...config.PolicyRule) func(*Settings) {
		p, err := policy.New(&config.Policy{PolicyPart: config.PolicyPart{Rules: rules}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return func(s *Settings) { s.Policy = p }
	}
	step := func(s *stepper, name string, does func(step int)) {
		raw, err := s.ask(s.ctx, &call.Ask{Method: methodStep, Params: json.RawMessage(`{"name":"` + name + `"}`)})
		var began struct{ Step int }
		if err := errors.Join(err, json.Unmarshal(raw, &began)); err != nil {
			t.Fatal(err)
		}
		if began.Step > 0 {
			does(began.Step)
			s.want(0, "done", fmt.Sprintf(`{"step":%d,"value":[]}`, began.Step), `{"outcome":`)
		}
	}
	read := func(s *stepper) func(int) {
		return func(step int) {
			if _, err := s.call(s.ctx, &call.Request{Tool: "crm__get", Args: json.RawMessage(`{"id":1}`), Step: step}); err != nil {
				t.Error(err)
			}
		}
	}
	for name, c := range map[string]struct {
		settings func(*Settings)
		first    func(s *stepper) // in the first part, and replayed in the second
		denied   string
	}{
		"taint": {rules(config.PolicyRule{Deny: config.Globs{"crm__send"}, When: "'crm' in taint"}), func(s *stepper) { step(s, "read", read(s)) }, "policy: refused"},
		"taint of a conversation": {func(s *Settings) {
			rules(config.PolicyRule{Deny: config.Globs{"crm__send"}, When: "'web' in taint"})(s)
			if _, counted := s.Journal.Past(); len(counted) == 0 {
				s.Conversation = &policy.Run{}
				if err := s.Conversation.Received(&policy.Request{Server: "web", Dir: "web"}); err != nil {
					t.Fatal(err)
				}
			}
		}, func(s *stepper) { step(s, "read", read(s)) }, "policy: refused"},
		"over": {rules(config.PolicyRule{Deny: config.Globs{"*"}, Over: &config.PolicyOver{Run: 3}}), func(s *stepper) {
			step(s, "send", func(step int) { s.send(step, "") })
			step(s, "read", read(s))
			s.send(0, "")
		}, "policy: refused"},
		"not over": {rules(config.PolicyRule{Deny: config.Globs{"*"}, Over: &config.PolicyOver{Run: 4}}), func(s *stepper) {
			step(s, "send", func(step int) { s.send(step, "") })
			step(s, "read", read(s))
			s.send(0, "")
		}, ""},
		"calls": {rules(config.PolicyRule{Deny: config.Globs{"crm__send"}, When: "calls > 1"}), func(s *stepper) {
			step(s, "read", read(s))
			step(s, "read again", read(s))
		}, "policy: refused"},
	} {
		t.Run(name, func(t *testing.T) {
			n, logs := 0, &lines{logs: map[store.Key][]store.Line{}}
			for range 3 {
				c.first(newStepper(t, logs, counting(&n), c.settings))
			}
			s := newStepper(t, logs, counting(&n), c.settings)
			c.first(s)
			s.send(0, c.denied)
		})
	}
}

// TestLooseStep has an engine that cannot tell which calls a step has made: a call that may be one of them is not made again.
func TestLooseStep(t *testing.T) {
	n, logs := 0, &lines{logs: map[store.Key][]store.Line{}}
	s := newStepper(t, logs, counting(&n), nil)
	s.want(0, "step", `{"name":"a","loose":true}`, `{"step":1}`)
	s.send(1, "")
	s.want(0, "done", `{"step":1,"value":[]}`, `{"outcome":{}}`)
	s = newStepper(t, logs, counting(&n), nil)
	s.want(0, "step", `{"name":"a","loose":true}`, `{"outcome":{}}`)
	s.send(0, "an equal one was sent while a step ran")
	if n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
}

// TestSuspend has scripts that wait, some of which do something else meanwhile.
func TestSuspend(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(s *stepper) // what the script does while it waits
		waits     time.Duration    // until it is suspended; zero: it is not
	}{
		"nothing else":       {func(*stepper) {}, settleTime},
		"a call in progress": {func(s *stepper) { s.send(0, "") }, 10*time.Second + settleTime},
		"a step in progress": {func(s *stepper) { s.want(0, "step", `{"name":"long"}`, `{"step":1}`) }, 0},
		"a short sleep":      {func(s *stepper) { s.want(0, "sleep", `{"time":0.9}`, `{}`) }, 900*time.Millisecond + settleTime},
		"something soon after": {func(s *stepper) {
			time.Sleep(200 * time.Millisecond)
			s.want(0, "step", `{"name":"x"}`, `{"step":1}`)
			s.want(0, "done", `{"step":1}`, `{`)
		}, 200*time.Millisecond + settleTime},
		"a step that waits too": {func(s *stepper) {
			s.want(0, "step", `{"name":"x"}`, `{"step":1}`)
			go s.ask(s.ctx, &call.Ask{Method: methodSleep, Params: json.RawMessage(`{"time":60}`), Step: 1})
		}, settleTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := answerer(func(context.Context, string, json.RawMessage, *upstream.CallOptions) (*upstream.CallResult, error) {
					time.Sleep(10 * time.Second)
					return structured(`{}`), nil
				})
				s := newStepper(t, &lines{logs: map[store.Key][]store.Line{}}, slow, nil)
				began := time.Now()
				go s.ask(s.ctx, &call.Ask{Method: methodWait, Params: json.RawMessage(`{"topic":"paid","timeout":"1h"}`)})
				go c.meanwhile(s)
				ctx, cancel := context.WithTimeout(s.ctx, time.Minute)
				defer cancel()
				<-ctx.Done()
				suspended := errors.Is(context.Cause(s.ctx), ErrSuspended)
				if took := time.Since(began); suspended != (c.waits > 0) || suspended && took != c.waits {
					t.Errorf("suspended: %t after %v, want %v", suspended, took, c.waits)
				}
				if !slices.ContainsFunc(s.Waiting(), func(w journal.Step) bool { return w.Topic == "paid" && w.Until.Equal(began.Add(time.Hour)) }) {
					t.Errorf("Waiting() = %+v, want paid among them", s.Waiting())
				}
			})
		})
	}
}

// TestWaits ends waits by their times, by values and by answers, and in runs that are not suspended.
func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := &lines{logs: map[store.Key][]store.Line{}}
		s := newStepper(t, logs, nil, nil)
		go s.ask(s.ctx, &call.Ask{Method: methodWait, Params: json.RawMessage(`{"topic":"paid"}`)})
		<-s.ctx.Done()
		s = newStepper(t, logs, nil, nil)
		for i, topic := range []string{"other", "paid", "paid"} {
			for range 2 { // the second time it is known
				if err := s.set.Journal.Deliver(t.Context(), journal.Message{Number: i + 1, Topic: topic, Value: json.RawMessage(fmt.Sprint(i))}); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 2 {
			s.want(0, "wait", `{"topic":"paid"}`, `{"value":1}`)
			s.want(0, "wait", `{"topic":"paid"}`, `{"value":2}`)
			s = newStepper(t, logs, nil, nil)
		}
		// A time-out that came while no process ran.
		go s.ask(s.ctx, &call.Ask{Method: methodWait, Params: json.RawMessage(`{"topic":"late","timeout":60}`)})
		<-s.ctx.Done()
		time.Sleep(time.Hour)
		for range 2 {
			s = newStepper(t, logs, nil, nil)
			s.want(0, "wait", `{"topic":"late","timeout":60}`, `nothing came in time: late`)
		}

		// Nobody could send anything.
		plain := newStepper(t, nil, nil, nil)
		plain.want(0, "wait", `{"topic":"paid"}`, `workflow/wait: nobody can send a value to this run; start it with mcprun workflow run`)
		plain.want(0, "sleep", `{"time":"11m"}`, `workflow/sleep: 11m0s is too long for this run`)
		began := time.Now()
		plain.want(0, "sleep", `{"time":"10m"}`, `{}`)
		if took := time.Since(began); took != 10*time.Minute {
			t.Errorf("a sleep of 10 minutes took %v", took)
		}
		plain.want(0, "sleep", `{"time":1}`, `workflow/sleep: 1s is too long for this run`)
		plain.want(0, "ask", `{"question":"Who?"}`, `the person did not answer: Who?`)
		dry := newStepper(t, nil, nil, func(s *Settings) { s.DryRun = true })
		dry.want(0, "sleep", `{"time":"24h"}`, `{}`)
		if took := time.Since(began); took != 10*time.Minute {
			t.Errorf("the sleep of a dry run took %v", took-10*time.Minute)
		}
	})
}

// TestAnswers reads what a person has answered.
func TestAnswers(t *testing.T) {
	schema := `,"schema":{"type":"object","properties":{"n":{"type":"integer","default":3},"who":{"type":"string"}},"required":["who"]}`
	for _, c := range []struct{ schema, reply, want string }{
		{"", `{"action":"accept","content":{"answer":"Ann"}}`, `{"value":"Ann"}`},
		{schema, `{"action":"accept","content":{"who":"Ann"}}`, `{"value":{"n":3,"who":"Ann"}}`},
		{schema, `{"action":"accept","content":{"n":4}}`, `the answer to "Who?" does not fit`},
		{"", `{"action":"decline"}`, `the person did not answer: Who?`},
	} {
		logs := &lines{logs: map[store.Key][]store.Line{}}
		s := newStepper(t, logs, nil, nil)
		if err := s.set.Journal.Deliver(t.Context(), journal.Message{Number: 1, Topic: "?/Who?#0", Value: json.RawMessage(c.reply)}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			s.want(0, "ask", `{"question":"Who?"`+c.schema+`}`, c.want)
			s = newStepper(t, logs, nil, nil)
		}
	}
}
