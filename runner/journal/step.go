package journal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// StepKind is what a step does.
type StepKind string

// The kinds of steps.
const (
	StepRun   StepKind = "step"  // runs a function of the script
	StepSleep StepKind = "sleep" // waits for a time
	StepWait  StepKind = "wait"  // waits for a value that somebody sends
	StepAsk   StepKind = "ask"   // waits for a person's answer
)

// Step is a step of a script: a function whose result is kept, so that it does not run again once it has finished, or a wait. The n-th step of
// a kind and a name is found again by that number.
type Step struct {
	Kind StepKind `json:"kind"`
	// Name is that of a function's step. Of a wait it is the topic, and of a question its text.
	Name string `json:"name"`
	// In is the path of the step whose function waits; empty: no step does.
	In string `json:"in,omitempty"`
	// Number counts the steps of the kind and the name before this one.
	Number int `json:"number,omitempty"`
	// Topic is where the value comes from that ends a wait.
	Topic string    `json:"topic,omitempty"`
	Began time.Time `json:"began"`
	Until time.Time `json:"until,omitzero"` // when a wait ends by itself; zero: never
	// Input is what the function is given, and Schema the JSON Schema of an answer.
	Input  json.RawMessage `json:"input,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"`
	// Loose says that calls which are not of the function may count as the step's: the engine could not tell.
	Loose bool `json:"loose,omitempty"`

	call *Call // what finds it in the journal; nil: there is no journal
}

// Message is a value that was sent to a run. It ends the first step that waits for its topic.
type Message struct {
	Number int             `json:"number"` // from 1, in the order in which they came
	Topic  string          `json:"topic"`
	Value  json.RawMessage `json:"value"`
}

// path names a step for the calls that its function makes.
func (s *Step) path(number int) string { return fmt.Sprintf("%s#%d", s.Name, number) }

// Path names the step for the calls that its function makes.
func (s *Step) Path() string { return s.path(s.Number) }

// Step returns the next step of a kind and a name, which the step with the path in makes, or which is outside of steps. If it began in a former execution, it
// says when, and until when it waits. A nil Journal keeps no steps, and does not number them.
func (j *Journal) Step(kind StepKind, in, name string) *Step {
	s := &Step{Kind: kind, Name: name, In: in}
	if j == nil {
		return s
	}
	s.call = &Call{j: j, in: in}
	s.call.id.Digest = sha256.Sum256(fmt.Appendf(nil, "%s in %q: %q", kind, in, name))
	j.mu.Lock()
	defer j.mu.Unlock()
	j.find(s.call)
	if f := s.call.former; f != nil && f.step != nil {
		call := s.call
		*s = *f.step
		s.call, call.intends = call, true
	}
	s.Number = s.call.id.Number
	return s
}

// HasBegun reports whether this execution or a former one has begun the step.
func (s *Step) HasBegun() bool { return s.call != nil && s.call.intends }

// Begin keeps that the step begins now, with what it waits for, unless it has begun.
func (s *Step) Begin(ctx context.Context) error {
	if s.HasBegun() {
		return nil
	}
	s.Began = time.Now()
	if s.call == nil {
		return nil
	}
	if err := s.call.j.add(ctx, &line{Call: &s.call.id, In: s.In, Step: s}); err != nil {
		return err
	}
	s.call.intends = true
	return nil
}

// Outcome returns how the step has ended in a former execution, or nil.
func (s *Step) Outcome(ctx context.Context) (*Outcome, error) {
	if s.call == nil {
		return nil, nil
	}
	return s.call.Outcome(ctx)
}

// Size is as of a [Call].
func (s *Step) Size() int {
	if s.call == nil {
		return 0
	}
	return s.call.Size()
}

// Finish keeps how the step ended, whether ctx has ended or not.
func (s *Step) Finish(ctx context.Context, out *Outcome) error {
	if s.call == nil {
		return nil
	}
	out.At = time.Now()
	return s.call.Finish(ctx, out)
}

// Receive ends the step with the first value of its topic, if one was sent, and returns its outcome then. Otherwise it returns nil.
func (s *Step) Receive(ctx context.Context) (*Outcome, error) {
	if s.call == nil {
		return nil, nil
	}
	j := s.call.j
	j.mu.Lock()
	i := slices.IndexFunc(j.inbox, func(m Message) bool { return m.Topic == s.Topic })
	if i < 0 {
		j.mu.Unlock()
		return nil, nil
	}
	m := j.inbox[i]
	j.inbox = slices.Delete(j.inbox, i, i+1)
	j.mu.Unlock()
	out := &Outcome{Value: m.Value, Message: m.Number}
	return out, s.Finish(ctx, out)
}

// Deliver keeps a value that was sent to the run, once for each number.
func (j *Journal) Deliver(ctx context.Context, m Message) error {
	j.mu.Lock()
	known := j.received >= m.Number
	j.mu.Unlock()
	if known {
		return nil
	}
	if err := j.add(ctx, &line{Message: &m}); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.receive(&m)
	return nil
}

func (j *Journal) receive(m *Message) {
	j.received = max(j.received, m.Number)
	j.inbox = append(j.inbox, *m)
}

// take removes a message that has ended a step.
func (j *Journal) take(number int) {
	j.inbox = slices.DeleteFunc(j.inbox, func(m Message) bool { return m.Number == number })
}

// Kept is what a journal has of a step.
type Kept struct {
	Step
	// Ended is when it ended; zero: it has not.
	Ended time.Time
	// Outcome is how; nil: it has not ended. A large result has only its size.
	Outcome *Outcome
}

// steps returns the steps that were read, in the order in which they began.
func (j *Journal) steps() (all []Kept) {
	for at, e := range j.entries {
		if e.step == nil {
			continue
		}
		k := Kept{Step: *e.step, Outcome: e.outcome}
		k.Number = at.Number
		if e.outcome != nil {
			k.Ended = e.outcome.At
		}
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b Kept) int { return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.Path(), b.Path())) })
	return all
}
