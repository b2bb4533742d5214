package chain

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/journal"
)

// Methods of the library's workflow.
const (
	methodStep  = "workflow/step"
	methodDone  = "workflow/done"
	methodSleep = "workflow/sleep"
	methodWait  = "workflow/wait"
	methodAsk   = "workflow/ask"
)

const (
	maxStepName = 300  // of a step or a topic, in bytes
	maxOpen     = 1000 // steps and waits that have begun and not ended
	// maxStepInput bounds what is kept of a step's input, in bytes.
	maxStepInput = 16 << 10
)

// StepRecord is a step of a run that has ended, or a wait.
type StepRecord struct {
	Kind   journal.StepKind `json:"kind"`
	Name   string           `json:"name"`
	Number int              `json:"number"` // of steps with the name before it
	// DurationMS is how long it took, with the time in which no process ran it. Replayed says that it had ended before this run.
	DurationMS  float64 `json:"durationMs"`
	Replayed    bool    `json:"replayed,omitempty"`
	InputBytes  int     `json:"inputBytes"`
	OutputBytes int     `json:"outputBytes"`
	Error       string  `json:"error,omitempty"`
	// Input and Output are JSON, or the first 16 KiB of it.
	Input, Output json.RawMessage `json:"-"`
}

// steps are the steps of a run.
type steps struct {
	mu      sync.Mutex
	last    int                // the number of the last step that was given to the guest
	active  map[int]*openStep  // those whose functions run
	waits   map[*openStep]bool // those that wait
	numbers map[string]int     // of steps without a journal, by kind, place and name
	records []StepRecord
	slept   time.Duration // in all, in a run that cannot be suspended

	busy      int // calls and requests in progress that do not wait for a time, a value or a person
	change    int // counts changes
	suspended bool
	staying   bool // a call is not sent, because the process ends
}

// openStep is a step that has not ended.
type openStep struct {
	*journal.Step
}

// journalOf returns the journal of the run, or nil if its steps are not kept.
func (c *Calls) journalOf() *journal.Journal {
	if c.set.DryRun || c.player != nil {
		return nil
	}
	return c.set.Journal
}

// path returns the path of the step that a guest names for a call, or "" outside of steps.
func (c *Calls) path(step int) string {
	if step == 0 {
		return ""
	}
	c.steps.mu.Lock()
	defer c.steps.mu.Unlock()
	if s := c.steps.active[step]; s != nil {
		return s.Path()
	}
	return "" // its function has returned
}

// stepOf returns the next step of a kind and a name in this run.
func (c *Calls) stepOf(kind journal.StepKind, in, name string) *openStep {
	s := c.journalOf().Step(kind, in, name)
	if c.journalOf() == nil {
		c.steps.mu.Lock()
		defer c.steps.mu.Unlock()
		if c.steps.numbers == nil {
			c.steps.numbers = map[string]int{}
		}
		key := fmt.Sprintf("%s %q %q", kind, in, name)
		s.Number = c.steps.numbers[key]
		c.steps.numbers[key]++
	}
	return &openStep{s}
}

func badStep(method, format string, args ...any) error {
	return &call.Error{Kind: call.KindArgument, Message: method + ": " + fmt.Sprintf(format, args...)}
}

func readStep(a *call.Ask, into any) error {
	if err := json.Unmarshal(a.Params, into); err != nil {
		return badStep(a.Method, "invalid parameters")
	}
	return nil
}

func checkName(a *call.Ask, what, name string) error {
	if name == "" || len(name) > maxStepName {
		return badStep(a.Method, "%s must have 1 to %d bytes, not %d", what, maxStepName, len(name))
	}
	return nil
}

// workflow answers a method of the library's workflow, or returns nil for any other method.
func (c *Calls) workflow(method string) func(context.Context, *call.Ask) (json.RawMessage, error) {
	switch method {
	case methodStep:
		return c.beginStep
	case methodDone:
		return c.endStep
	case methodSleep:
		return c.sleep
	case methodWait:
		return c.wait
	case methodAsk:
		return c.askPerson
	}
	return nil
}

// beginStep answers workflow/step: how the step has ended, or the number under which its function runs.
func (c *Calls) beginStep(ctx context.Context, a *call.Ask) (json.RawMessage, error) {
	var in struct {
		Name  string            `json:"name"`
		Input []json.RawMessage `json:"input"` // one value, or none
		Loose bool              `json:"loose"`
	}
	if err := cmp.Or(readStep(a, &in), checkName(a, "the name of a step", in.Name)); err != nil {
		return nil, err
	}
	if a.Step != 0 {
		return nil, badStep(a.Method, "the step %q begins in another one; a step cannot have steps, as it is kept as a whole", in.Name)
	}
	s := c.stepOf(journal.StepRun, "", in.Name)
	s.Loose = in.Loose
	if len(in.Input) > 0 {
		s.Input = audit.Clip(in.Input[0], maxStepInput)
	}
	out, err := s.Outcome(ctx)
	if err == nil && out != nil {
		c.recordStep(s, out, true)
		return json.Marshal(map[string]any{"outcome": json.RawMessage(out.Value)})
	}
	if err == nil {
		err = s.Begin(ctx)
	}
	if err != nil {
		return nil, c.stepFailed(ctx, a, err)
	}
	c.steps.mu.Lock()
	defer c.steps.mu.Unlock()
	if len(c.steps.active) >= maxOpen {
		return nil, badStep(a.Method, "%d steps have begun and not ended", maxOpen)
	}
	c.steps.last++
	if c.steps.active == nil {
		c.steps.active = map[int]*openStep{}
	}
	c.steps.active[c.steps.last] = s
	return json.Marshal(map[string]any{"step": c.steps.last})
}

// stepFailed is journalFailed for a step.
func (c *Calls) stepFailed(ctx context.Context, a *call.Ask, err error) error {
	failed, ok := errors.AsType[*call.Error](c.journalFailed(ctx, &request{Request: call.Request{Seq: a.Seq}}, err))
	if !ok {
		return err
	}
	return failed
}

// stepOutcome is how the function of a step ended: with a value, which is alone in a list, or an error. The list is empty for undefined.
type stepOutcome struct {
	Value []json.RawMessage `json:"value,omitempty"`
	Error *call.Error       `json:"error,omitempty"`
	// Name is that of the class of an error.
	Name string `json:"name,omitempty"`
}

// endStep answers workflow/done: it keeps how the function of a step ended, and returns that.
func (c *Calls) endStep(ctx context.Context, a *call.Ask) (json.RawMessage, error) {
	var in struct {
		Step int `json:"step"`
		stepOutcome
	}
	if err := readStep(a, &in); err != nil {
		return nil, err
	}
	c.steps.mu.Lock()
	s := c.steps.active[in.Step]
	delete(c.steps.active, in.Step)
	c.steps.mu.Unlock()
	if s == nil {
		return nil, badStep(a.Method, "no step %d has begun", in.Step)
	}
	value, err := json.Marshal(in.stepOutcome)
	if err != nil {
		return nil, err
	}
	out := &journal.Outcome{Value: value}
	if in.Error != nil && (in.Error.Kind == call.KindCancelled || errors.Is(ctx.Err(), context.Canceled)) {
		return nil, ctx.Err() // the end of the run has ended it
	}
	c.finishStep(ctx, s, out)
	return json.Marshal(map[string]any{"outcome": json.RawMessage(value)})
}

// finishStep keeps how a step ended. The script goes on in any case.
func (c *Calls) finishStep(ctx context.Context, s *openStep, out *journal.Outcome) {
	if err := s.Finish(ctx, out); err != nil {
		c.advise(&request{}, "how the step %q ended was not kept, so it runs again if the run has to be continued: %v", s.Name, err)
	}
	c.recordStep(s, out, false)
}

// recordStep adds a step that has ended to those of the run.
func (c *Calls) recordStep(s *openStep, out *journal.Outcome, replayed bool) {
	ended := out.At
	if ended.IsZero() {
		ended = time.Now()
	}
	rec := StepRecord{
		Kind: s.Kind, Name: s.Name, Number: s.Number, DurationMS: ms(ended.Sub(s.Began)), Replayed: replayed,
		Input: s.Input, InputBytes: len(s.Input), Output: out.Value, OutputBytes: len(out.Value),
	}
	failed := out.Error
	if s.Kind == journal.StepRun {
		var of stepOutcome
		_ = json.Unmarshal(out.Value, &of) // it is one of ours
		failed, rec.Output, rec.OutputBytes = of.Error, nil, 0
		if len(of.Value) > 0 {
			rec.Output, rec.OutputBytes = of.Value[0], len(of.Value[0])
		}
	}
	rec.Output = audit.Clip(rec.Output, maxStepInput)
	if failed != nil {
		rec.Error = ident.Clip(c.set.Personal.Mask(failed.Message), maxErrorText)
	}
	c.steps.mu.Lock()
	defer c.steps.mu.Unlock()
	if len(c.steps.records) < maxRecorded {
		c.steps.records = append(c.steps.records, rec)
	}
}
