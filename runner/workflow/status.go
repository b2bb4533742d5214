package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
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
	// Runs says that a process runs it, or waits with it. One that was killed counts for some seconds.
	Runs bool
	// Stop is why it has stopped, and waits for [Engine.Resume]; nil: it has not.
	Stop *Stop
	// Outcome is how it ended. Nil if it has not, or was cancelled.
	Outcome *Outcome
	// Settings are those of Start.
	Settings json.RawMessage
	// Steps are its steps and waits in the order in which they began, Calls counts the calls that changed something, by tool, and Unknown are those
	// without an answer: while it runs, they may be in progress. Only Get sets them.
	Steps   []journal.Kept
	Calls   map[string]int
	Unknown []journal.Unknown
}

// Stopped is the state of a workflow that has a [Stop].
const Stopped durable.State = "stopped"

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
	if err != nil {
		return nil, err
	}
	c, err := journal.Read(ctx, e.o.State, journalKey(work.Customer, id), e.o.Secret)
	if err != nil {
		return nil, err
	}
	s.Steps, s.Calls, s.Unknown = c.Steps, c.Sent, c.Unknown
	return s, nil
}

func (e *Engine) find(ctx context.Context, id string) (*durable.Status, error) {
	work, err := e.o.Durable.Get(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && work.Kind != Kind {
		return nil, &idError{fmt.Sprintf("there is no workflow %s", ident.Clip(id, 100)), store.ErrNotFound}
	}
	return work, err
}

// open is find of a workflow that has not ended; else the error wraps durable.ErrEnded.
func (e *Engine) open(ctx context.Context, id string) (*durable.Status, error) {
	work, err := e.find(ctx, id)
	if err == nil && work.State.Ended() {
		return nil, &idError{fmt.Sprintf("the workflow %s has ended", id), durable.ErrEnded}
	}
	return work, err
}

// idError is an error about a workflow, in words.
type idError struct {
	text string
	err  error
}

func (e *idError) Error() string { return e.text }

func (e *idError) Unwrap() error { return e.err }

// status converts the status of work.
func (e *Engine) status(ctx context.Context, w *durable.Status) (*Status, error) {
	s := &Status{ID: w.ID, Customer: w.Customer, State: w.State, Created: w.Created, Ended: w.Ended, Group: w.Group}
	if k, err := e.program(ctx, w.Customer, w.ID); err == nil {
		s.Name, s.Settings = k.Program.Name, k.Settings
	} else if ctx.Err() != nil {
		return nil, err
	}
	if !w.State.Ended() {
		var err error
		if s.Runs, err = e.o.Durable.Alive(ctx, w.Executor); err != nil {
			return nil, err
		}
	}
	if part, stopped := stopOf(w); stopped {
		key := store.Key{Customer: w.Customer, Kind: kindStop, Name: w.ID}
		s.State, s.Stop = Stopped, &Stop{ExitCode: exit.Runner, Reason: "its reason is not known"}
		if doc, err := e.o.State.Document(ctx, key); err == nil {
			_ = e.unseal(key, doc.Value, s.Stop) // it may be another user's
		}
		s.Stop.Part = part
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

// Send sends a value to a workflow, which gets it from workflow.waitFor(topic), now or later. It reports whether a process runs the workflow.
func (e *Engine) Send(ctx context.Context, id, topic string, value json.RawMessage) (runs bool, err error) {
	return e.send(ctx, id, "", &journal.Message{Topic: topic, Value: value})
}

// send sends a message; of those with a key, only the first one.
func (e *Engine) send(ctx context.Context, id, key string, m *journal.Message) (runs bool, err error) {
	if len(m.Value) > maxMessage || !json.Valid(m.Value) {
		return false, fmt.Errorf("the value for the workflow %s must be JSON of at most %d KiB", id, maxMessage>>10)
	}
	work, err := e.open(ctx, id)
	if err != nil {
		return false, err
	}
	sealed, err := e.seal(store.Key{Customer: work.Customer, Kind: kindMessage, Name: id}, m)
	if err != nil {
		return false, err
	}
	if err := e.o.Durable.SendOnce(ctx, id, wake, key, sealed); err != nil {
		return false, err
	}
	_, stopped := stopOf(work)
	runs, err = e.o.Durable.Alive(ctx, work.Executor)
	return runs && !stopped, err
}

// ErrFits says that an answer does not fit its question, and ErrAnswered that the question has an answer.
var (
	ErrFits     = errors.New("the answer does not fit")
	ErrAnswered = errors.New("the question was answered already")
)

// Answer answers a question of a workflow, which one of its waits is. The content of an accepted reply must fit the question's schema. It reports
// whether a process runs the workflow.
func (e *Engine) Answer(ctx context.Context, id string, question *journal.Step, reply *elicit.Reply) (runs bool, err error) {
	if reply.Action == elicit.ActionAccept {
		q, err := chain.Question(question)
		if err != nil {
			return false, err
		}
		form, _, err := q.Check(reply.Content)
		if err != nil {
			return false, fmt.Errorf("%w: %w", ErrFits, err)
		}
		reply.Content = form
	}
	runs, err = e.send(ctx, id, question.Topic, &journal.Message{Topic: question.Topic, Value: reply.Result()})
	if errors.Is(err, durable.ErrExists) {
		err = fmt.Errorf("%w: %s", ErrAnswered, question.Name)
	}
	return runs, err
}

// Peek returns the state of a workflow, and the size in bytes of its journal, which grows with all that it does. It reads little.
func (e *Engine) Peek(ctx context.Context, id string) (durable.State, int64, error) {
	work, err := e.find(ctx, id)
	if err != nil {
		return "", 0, err
	}
	size, err := e.o.State.LogSize(ctx, journalKey(work.Customer, id))
	return work.State, size, err
}

// stopOf returns the number of the part at which work has stopped.
func stopOf(w *durable.Status) (part int, stopped bool) {
	number, stopped := strings.CutPrefix(w.Waiting, resume)
	part, err := strconv.Atoi(number)
	return part, stopped && err == nil
}

// Resume tries again to continue a workflow that has stopped, and returns the part at which it had. Others go on by themselves; the part is 0.
func (e *Engine) Resume(ctx context.Context, id string) (part int, err error) {
	work, err := e.find(ctx, id)
	if err != nil {
		return 0, err
	}
	if part, stopped := stopOf(work); stopped {
		return part, e.o.Durable.Send(ctx, id, work.Waiting, nil)
	}
	return 0, nil
}

// Cancel ends a workflow. A part in progress is stopped. The error wraps durable.ErrEnded if it has ended.
func (e *Engine) Cancel(ctx context.Context, id string) error {
	if _, err := e.open(ctx, id); err != nil {
		return err
	}
	return e.o.Durable.Cancel(ctx, id)
}

// Wait waits until a workflow has ended, or has stopped at a later part than the given one, which [Engine.Resume] has returned.
func (e *Engine) Wait(ctx context.Context, id string, part int) (*Status, error) {
	_, err := e.o.Durable.WaitUntil(ctx, id, func(s *durable.Status) bool {
		at, stopped := stopOf(s)
		return stopped && at > part
	})
	if err != nil {
		return nil, err
	}
	return e.Get(ctx, id)
}
