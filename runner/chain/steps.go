package chain

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/upstream/elicit"
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
	maxStepName = 300 // of a step or a topic, in bytes
	maxQuestion = 4 << 10
	maxOpen     = 1000 // steps and waits that have begun and not ended
	// maxSleep bounds the sleeps of a run that cannot be suspended.
	maxSleep = 10 * time.Minute
	// maxStepInput bounds what is kept of a step's input, in bytes.
	maxStepInput = 16 << 10
	// settleTime is how long nothing must happen in a script that waits until it is suspended.
	settleTime = 250 * time.Millisecond
)

// ErrSuspended is the cause with which the context of a run ends when its script does nothing but wait; see [Settings.Suspend].
var ErrSuspended = errors.New("the script waits")

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

// enter lets a call or a request begin. After the run was suspended, it waits for the run's end, and the error is that.
func (c *Calls) enter(ctx context.Context) (leave func(), err error) {
	s := &c.steps
	s.mu.Lock()
	if s.suspended {
		s.mu.Unlock()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s.busy++
	s.change++
	s.mu.Unlock()
	return func() {
		s.mu.Lock()
		s.busy--
		s.mu.Unlock()
		c.considerSuspension()
	}, nil
}

// counted makes the calls of a handler count for the suspension.
func (c *Calls) counted(h call.Handler) call.Handler {
	return func(ctx context.Context, req *call.Request) (*call.Result, error) {
		leave, err := c.enter(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
		return h(ctx, req)
	}
}

// considerSuspension suspends the run if its script does nothing but wait, and goes on doing so for a moment: no call is in progress, and no
// function of a step runs that does not wait itself.
func (c *Calls) considerSuspension() {
	s := &c.steps
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change++
	if !c.suspends() || !s.idle() {
		return
	}
	change := s.change
	time.AfterFunc(settleTime, func() {
		s.mu.Lock()
		stays := s.change == change && s.idle() && !s.suspended
		s.suspended = s.suspended || stays
		s.mu.Unlock()
		if stays {
			c.run.Suspend()
		}
	})
}

func (c *Calls) suspends() bool {
	return c.run.Suspend != nil && c.set.Suspend > 0 && c.journalOf() != nil
}

// idle reports whether the script only waits. The caller holds mu.
func (s *steps) idle() bool {
	waiting := map[string]bool{}
	for w := range s.waits {
		waiting[w.In] = true
	}
	for _, a := range s.active {
		if !waiting[a.Path()] && !s.staying {
			return false
		}
	}
	return s.busy == 0 && (len(s.waits) > 0 || s.staying)
}

// Waiting returns what the script waits for, the oldest first.
func (c *Calls) Waiting() (all []journal.Step) {
	c.steps.mu.Lock()
	defer c.steps.mu.Unlock()
	for w := range c.steps.waits {
		all = append(all, *w.Step)
	}
	slices.SortFunc(all, func(a, b journal.Step) int { return a.Began.Compare(b.Began) })
	return all
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

// duration reads a time to wait: a number of seconds, or a text such as "5s".
func duration(a *call.Ask, what string, raw json.RawMessage) (time.Duration, error) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw) + "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, badStep(a.Method, `%s is %.50s; give seconds, or a text such as "90s" or "2h30m"`, what, raw)
	}
	return d, nil
}

// sleep answers workflow/sleep.
func (c *Calls) sleep(ctx context.Context, a *call.Ask) (json.RawMessage, error) {
	var in struct {
		Time json.RawMessage `json:"time"`
	}
	if err := readStep(a, &in); err != nil {
		return nil, err
	}
	d, err := duration(a, "the time", in.Time)
	if err != nil {
		return nil, err
	}
	if !c.suspends() && !c.maySleep(d) {
		return nil, badStep(a.Method, "%v is too long for this run, which can sleep %v in all; mcprun workflow run has no limit", d, maxSleep)
	}
	s := c.stepOf(journal.StepSleep, c.path(a.Step), "sleep")
	if c.set.DryRun || c.player != nil {
		d = 0
	}
	if s.Until.IsZero() {
		s.Until = time.Now().Add(d)
	}
	_, err = c.await(ctx, a, s, !c.suspends() || d <= c.set.Suspend, nil)
	return json.RawMessage("{}"), err
}

// maySleep reports whether a run that is not suspended may sleep for so long, which does not count against its timeout.
func (c *Calls) maySleep(d time.Duration) bool {
	c.steps.mu.Lock()
	defer c.steps.mu.Unlock()
	if c.set.DryRun || d > maxSleep-c.steps.slept {
		return c.set.DryRun
	}
	c.steps.slept += d
	return true
}

// wait answers workflow/wait.
func (c *Calls) wait(ctx context.Context, a *call.Ask) (json.RawMessage, error) {
	var in struct {
		Topic   string          `json:"topic"`
		Timeout json.RawMessage `json:"timeout"`
	}
	if err := cmp.Or(readStep(a, &in), checkName(a, "a topic", in.Topic)); err != nil {
		return nil, err
	}
	if !c.suspends() {
		return nil, badStep(a.Method, "nobody can send a value to this run; start it with mcprun workflow run")
	}
	s := c.stepOf(journal.StepWait, c.path(a.Step), in.Topic)
	s.Topic = in.Topic
	return c.awaitUntil(ctx, a, s, in.Timeout, false, nil)
}

// awaitUntil is await with a timeout, which may be missing.
func (c *Calls) awaitUntil(ctx context.Context, a *call.Ask, s *openStep, timeout json.RawMessage, stay bool, other func(context.Context) (*journal.Outcome, error)) (json.RawMessage, error) {
	if len(timeout) > 0 && string(timeout) != "null" && s.Until.IsZero() {
		d, err := duration(a, "the timeout", timeout)
		if err != nil {
			return nil, err
		}
		s.Until = time.Now().Add(d)
	}
	out, err := c.await(ctx, a, s, stay, other)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"value": json.RawMessage(out.Value)})
}

// plainSchema is the form of a question that wants a text.
const plainSchema = `{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"]}`

// askPerson answers workflow/ask.
func (c *Calls) askPerson(ctx context.Context, a *call.Ask) (json.RawMessage, error) {
	var in struct {
		Question string          `json:"question"`
		Schema   json.RawMessage `json:"schema"`
		Timeout  json.RawMessage `json:"timeout"`
	}
	if err := readStep(a, &in); err != nil {
		return nil, err
	}
	if in.Question == "" || len(in.Question) > maxQuestion {
		return nil, badStep(a.Method, "the question must have 1 to %d bytes, not %d", maxQuestion, len(in.Question))
	}
	s := c.stepOf(journal.StepAsk, c.path(a.Step), in.Question)
	s.Topic = fmt.Sprintf("?%s#%d", s.In+"/"+s.Name, s.Number)
	if s.Schema = in.Schema; len(in.Schema) == 0 || string(in.Schema) == "null" {
		s.Schema = json.RawMessage(plainSchema)
	}
	q, err := Question(s.Step)
	if err != nil {
		return nil, badStep(a.Method, "%v", err)
	}
	answered := func(ctx context.Context) (*journal.Outcome, error) {
		reply := &elicit.Reply{Action: elicit.ActionDecline}
		if c.run.Elicit != nil {
			if reply, err = c.run.Elicit(ctx, q); err != nil {
				return nil, err
			}
		}
		return &journal.Outcome{Value: reply.Result()}, nil
	}
	if c.suspends() {
		answered = nil
	}
	raw, err := c.awaitUntil(ctx, a, s, in.Timeout, false, answered)
	if err != nil {
		return nil, err
	}
	return answerOf(q, raw)
}

// Question returns the question of a step of the kind ask. Its server is empty: the script asks.
func Question(s *journal.Step) (*elicit.Question, error) {
	params, err := json.Marshal(elicit.Params{Message: s.Name, Schema: s.Schema})
	if err != nil {
		return nil, err
	}
	return elicit.Parse("", params)
}

// answerOf returns what the script gets of a reply: the form, or the text if it has asked for no form.
func answerOf(q *elicit.Question, raw json.RawMessage) (json.RawMessage, error) {
	var in struct {
		Value struct {
			Action  string          `json:"action"`
			Content json.RawMessage `json:"content"`
		} `json:"value"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	form, _, err := q.Check(in.Value.Content)
	switch {
	case in.Value.Action != elicit.ActionAccept:
		return nil, &call.Error{Kind: call.KindDenied, Message: "the person did not answer: " + q.Message}
	case err != nil:
		return nil, &call.Error{Kind: call.KindDenied, Message: fmt.Sprintf("the answer to %q does not fit: %v", q.Message, err)}
	case string(q.Schema) == plainSchema:
		var plain struct {
			Answer json.RawMessage `json:"answer"`
		}
		err = json.Unmarshal(form, &plain)
		form = plain.Answer
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"value": form})
}

// await returns how a wait has ended, or waits for that: for its time, for a value that was sent to the run, or for what other returns.
// With stay, the run is not suspended meanwhile. Waits that end by their time and are not sleeps fail.
func (c *Calls) await(ctx context.Context, a *call.Ask, s *openStep, stay bool, other func(context.Context) (*journal.Outcome, error)) (*journal.Outcome, error) {
	out, err := s.Outcome(ctx)
	if replayed := out != nil; err == nil && replayed {
		c.recordStep(s, out, true)
		return out, failureOf(out)
	}
	if err == nil {
		err = s.Begin(ctx)
	}
	if err == nil {
		out, err = s.Receive(ctx)
	}
	if err != nil {
		return nil, c.stepFailed(ctx, a, err)
	}
	if out == nil {
		if out, err = c.pause(ctx, s, stay, other); err != nil {
			return nil, err
		}
		c.finishStep(ctx, s, out)
	} else {
		c.recordStep(s, out, false)
	}
	return out, failureOf(out)
}

func failureOf(out *journal.Outcome) error {
	if out.Error != nil {
		return out.Error
	}
	return nil
}

// pause waits, while the run's clock is held.
func (c *Calls) pause(ctx context.Context, s *openStep, stay bool, other func(context.Context) (*journal.Outcome, error)) (*journal.Outcome, error) {
	c.clock.Hold()
	defer c.clock.Release()
	if !s.Until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, s.Until)
		defer cancel()
	}
	if !stay && other == nil {
		if err := c.park(s); err != nil {
			return nil, err
		}
		defer c.unpark(s)
	}
	if other != nil {
		out, err := other(ctx)
		if err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return out, err
		}
	}
	<-ctx.Done()
	switch {
	case !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, ctx.Err()
	case s.Kind == journal.StepSleep:
		return &journal.Outcome{Value: []byte("null")}, nil
	}
	return &journal.Outcome{Error: &call.Error{Kind: call.KindTimeout, Message: fmt.Sprintf("nothing came in time: %s", s.Name)}}, nil
}

// park makes a wait one for which the run may be suspended.
func (c *Calls) park(s *openStep) error {
	c.steps.mu.Lock()
	defer c.considerSuspension()
	defer c.steps.mu.Unlock()
	if len(c.steps.waits) >= maxOpen {
		return badStep(methodWait, "the script waits for %d things already", maxOpen)
	}
	if c.steps.waits == nil {
		c.steps.waits = map[*openStep]bool{}
	}
	c.steps.waits[s] = true
	c.steps.busy--
	return nil
}

// stays makes a call that is not sent any more, since the process ends, no hindrance for the end of the run.
func (c *Calls) stays() {
	c.steps.mu.Lock()
	defer c.considerSuspension()
	defer c.steps.mu.Unlock()
	c.steps.busy--
	c.steps.staying = true
}

func (c *Calls) unpark(s *openStep) {
	c.steps.mu.Lock()
	defer c.steps.mu.Unlock()
	if !c.steps.suspended { // otherwise it is what the run waits for
		delete(c.steps.waits, s)
	}
	c.steps.busy++
	c.steps.change++
}
