package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpgen/mcpgen/gen/upstream/elicit"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/durable"
	"github.com/mcpgen/mcpgen/runner/journal"
	"github.com/mcpgen/mcpgen/runner/store"
)

// Status describes a workflow.
type Status struct {
	ID       string
	Customer string
	Name     string // of its program; empty: it was sealed with another key
	State    durable.State
	Created  time.Time
	Ended    time.Time // zero: it goes on
	Group    string    // of the processes that may run it; see [Group]
	// Refused says that it was not continued, because its files have changed, and that it waits for [Engine.Resume].
	Refused bool
	// Outcome is how it ended. Nil if it has not, or was cancelled.
	Outcome *Outcome
	// Settings are those of Start.
	Settings json.RawMessage
	// Steps are its steps and waits in the order in which they began, and Calls counts the calls that changed something, by tool. Only
	// Get sets them.
	Steps []journal.Kept
	Calls map[string]int
}

// Waits returns what the workflow waits for.
func (s *Status) Waits() (all []journal.Step) {
	for _, k := range s.Steps {
		if !s.State.Ended() && k.Kind != journal.StepRun && k.Outcome == nil {
			all = append(all, k.Step)
		}
	}
	return all
}

// List returns workflows, the newest first.
func (e *Engine) List(ctx context.Context, f durable.Filter) ([]Status, error) {
	f.Kind = Kind
	work, err := e.o.Durable.List(ctx, f)
	if err != nil {
		return nil, err
	}
	all := make([]Status, len(work))
	for i := range work {
		s, err := e.status(ctx, &work[i])
		if err != nil {
			return nil, err
		}
		all[i] = *s
	}
	return all, nil
}

// Get returns the status of a workflow. The error wraps store.ErrNotFound if there is no such workflow.
func (e *Engine) Get(ctx context.Context, id string) (*Status, error) {
	work, err := e.find(ctx, id)
	if err != nil {
		return nil, err
	}
	s, err := e.status(ctx, work)
	if err == nil {
		s.Steps, err = journal.Steps(ctx, e.o.State, journalKey(work.Customer, id), e.o.Secret)
	}
	if err == nil {
		s.Calls, err = journal.Sent(ctx, e.o.State, journalKey(work.Customer, id), e.o.Secret)
	}
	return s, err
}

func (e *Engine) find(ctx context.Context, id string) (*durable.Status, error) {
	work, err := e.o.Durable.Get(ctx, id)
	if err == nil && work.Kind != Kind {
		err = fmt.Errorf("%w: it is other work", store.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("the workflow %s: %w", id, err)
	}
	return work, nil
}

// status converts the status of work.
func (e *Engine) status(ctx context.Context, w *durable.Status) (*Status, error) {
	s := &Status{ID: w.ID, Customer: w.Customer, State: w.State, Created: w.Created, Ended: w.Ended, Group: w.Group, Refused: w.Waiting == resume}
	if k, err := e.program(ctx, w.Customer, w.ID); err == nil {
		s.Name, s.Settings = k.Program.Name, k.Settings
	} else if ctx.Err() != nil {
		return nil, err
	}
	if w.State == durable.Failed || w.State == durable.Unknown {
		s.Outcome = &Outcome{ExitCode: 1, Message: w.Error}
	}
	if w.State != durable.Done {
		return s, nil
	}
	var sealed []byte
	var ended end
	if err := json.Unmarshal(w.Result, &sealed); err != nil {
		return nil, err
	}
	if s.Name == "" {
		return s, nil
	}
	if err := e.unseal(endKey(w.Customer, w.ID), sealed, &ended); err != nil {
		return nil, err
	}
	switch s.Outcome = ended.Outcome; {
	case s.Outcome.Unknown:
		s.State = durable.Unknown
	case s.Outcome.ExitCode != 0:
		s.State = durable.Failed
	}
	return s, nil
}

// Send sends a value to a workflow, which gets it from workflow.waitFor(topic), now or later.
func (e *Engine) Send(ctx context.Context, id, topic string, value json.RawMessage) error {
	if len(value) > maxMessage || !json.Valid(value) {
		return fmt.Errorf("the value for the workflow %s must be JSON of at most %d KiB", id, maxMessage>>10)
	}
	work, err := e.find(ctx, id)
	if err != nil {
		return err
	}
	sealed, err := e.seal(store.Key{Customer: work.Customer, Kind: kindMessage, Name: id}, &journal.Message{Topic: topic, Value: value})
	if err != nil {
		return err
	}
	if err := e.o.Durable.Send(ctx, id, wake, sealed); err != nil {
		return fmt.Errorf("the workflow %s: %w", id, err)
	}
	return nil
}

// ErrFits says that an answer does not fit its question.
var ErrFits = errors.New("the answer does not fit")

// Answer answers a question of a workflow, which one of its waits is. The content of an accepted reply must fit the question's schema.
func (e *Engine) Answer(ctx context.Context, id string, question *journal.Step, reply *elicit.Reply) error {
	if reply.Action == elicit.ActionAccept {
		q, err := chain.Question(question)
		if err != nil {
			return err
		}
		form, _, err := q.Check(reply.Content)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrFits, err)
		}
		reply.Content = form
	}
	return e.Send(ctx, id, question.Topic, reply.Result())
}

// Resume tries again to continue a workflow that was not continued, because its files had changed. Others go on by themselves.
func (e *Engine) Resume(ctx context.Context, id string) error {
	work, err := e.find(ctx, id)
	if err != nil || work.Waiting != resume {
		return err
	}
	return e.o.Durable.Send(ctx, id, resume, nil)
}

// Cancel ends a workflow. A part in progress is stopped.
func (e *Engine) Cancel(ctx context.Context, id string) error {
	if _, err := e.find(ctx, id); err != nil {
		return err
	}
	return e.o.Durable.Cancel(ctx, id)
}

// Wait waits until a workflow has ended.
func (e *Engine) Wait(ctx context.Context, id string) (*Status, error) {
	if _, err := e.o.Durable.Wait(ctx, id); err != nil {
		return nil, err
	}
	return e.Get(ctx, id)
}
