package durable

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/mcpgen/mcpgen/runner/store"
)

// State is how far work is.
type State string

// The states of work. Failed, Unknown, Cancelled and Done are final.
const (
	Queued    State = "queued"    // waits for its turn
	Running   State = "running"   // or about to continue after a restart
	Waiting   State = "waiting"   // for an answer, or a time
	Done      State = "done"      // with a result
	Failed    State = "failed"    // with an error, or at its timeout
	Unknown   State = "unknown"   // failed with an UnknownError
	Cancelled State = "cancelled" // by a person or a client
)

// attributeFailed says that work failed, and was not cancelled.
const attributeFailed = "failed"

// Ended reports whether the state is final.
func (s State) Ended() bool { return s == Done || s == Failed || s == Unknown || s == Cancelled }

var (
	endStates = []dbos.WorkflowStatusType{dbos.WorkflowStatusSuccess, dbos.WorkflowStatusError, dbos.WorkflowStatusCancelled, dbos.WorkflowStatusMaxRecoveryAttemptsExceeded}
	openState = []dbos.WorkflowStatusType{dbos.WorkflowStatusPending, dbos.WorkflowStatusEnqueued, dbos.WorkflowStatusDelayed}
)

// Status describes work.
type Status struct {
	ID       string
	Kind     string
	Customer string
	State    State
	Queue    string // where it waits; empty: it does not
	Position int    // in the queue, from 1, if each customer has its turn; zero: it does not wait
	Waiting  string // the topic that it waits for, or "time"
	Until    time.Time
	Result   json.RawMessage // if done
	Error    string          // if failed or unknown
	Created  time.Time
	Started  time.Time // the last time that a process began or continued it
	Ended    time.Time
	Group    string // of the processes that may do it
	Executor string // the process that does it, or did last; see [Engine.Alive]
}

// Get returns the status of work, or [store.ErrNotFound].
func (e *Engine) Get(ctx context.Context, id string) (*Status, error) {
	list, err := e.list(ctx, dbos.WithFilterWorkflowIDs(id))
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("work %s: %w", id, store.ErrNotFound)
	}
	return &list[0], nil
}

// Filter selects work.
type Filter struct {
	Kind     string // empty: all
	Customer string // empty: of all
	Open     bool   // only what has not ended
	Limit    int    // zero: 1000
}

// List returns work, the newest first.
func (e *Engine) List(ctx context.Context, f Filter) ([]Status, error) {
	if f.Limit == 0 {
		f.Limit = 1000
	}
	options := []dbos.ListWorkflowsOption{dbos.WithFilterLimit(f.Limit), dbos.WithFilterSortDesc()}
	if f.Kind != "" {
		options = append(options, dbos.WithFilterName(f.Kind))
	}
	if f.Customer != "" {
		options = append(options, dbos.WithFilterUser(f.Customer))
	}
	if f.Open {
		options = append(options, dbos.WithFilterStatus(openState...))
	}
	return e.list(ctx, options...)
}

func (e *Engine) list(ctx context.Context, options ...dbos.ListWorkflowsOption) ([]Status, error) {
	rows, err := e.rows(ctx, append(options, dbos.WithFilterLoadOutput(true))...)
	if err != nil {
		return nil, err
	}
	list := make([]Status, len(rows))
	for i, row := range rows {
		s := status(row)
		if s.State == Queued {
			places, err := e.recentPositions(ctx, s.Queue, s.ID)
			if err != nil {
				return nil, err
			}
			s.Position = places[s.ID]
		}
		list[i] = s
	}
	return list, nil
}

// status translates a row of the library.
func status(row dbos.WorkflowStatus) Status {
	s := Status{ID: row.ID, Kind: row.Name, Customer: row.AuthenticatedUser, Created: row.CreatedAt, Started: row.StartedAt, Ended: row.CompletedAt, Executor: row.ExecutorID}
	s.Group, _ = ofVersion(row.ApplicationVersion)
	switch row.Status {
	case dbos.WorkflowStatusSuccess:
		s.State = Done
		if text, ok := row.Output.(string); ok {
			s.Result = json.RawMessage(text)
		}
	case dbos.WorkflowStatusError, dbos.WorkflowStatusMaxRecoveryAttemptsExceeded:
		s.State, s.Error = Failed, "its process ended too often"
		if row.Error != nil {
			s.Error = row.Error.Error()
		}
		if f, ok := row.Error.(*failure); ok && f.Unknown != "" {
			s.State = Unknown
		}
	case dbos.WorkflowStatusCancelled:
		s.State = Cancelled
		if text, ok := row.Attributes[attributeFailed].(string); ok {
			s.State, s.Error = Failed, text
		} else if !row.Deadline.IsZero() && !row.CompletedAt.Before(row.Deadline) {
			s.State, s.Error = Failed, "it took longer than it may"
		}
	case dbos.WorkflowStatusEnqueued, dbos.WorkflowStatusDelayed:
		s.State, s.Queue = Queued, row.QueueName
		if row.Attempts == 0 {
			break
		}
		s.Queue = "" // it was running
		fallthrough
	default:
		s.State = Running
		if what, ok := row.Attributes["waiting"].(string); ok {
			s.State, s.Waiting = Waiting, what
			if until, ok := row.Attributes["until"].(float64); ok {
				s.Until = time.UnixMilli(int64(until))
			}
		}
	}
	return s
}

// recentPositions returns the places of work in a queue as they were at most a quarter of a second ago, with that of some work. Many may ask at
// the same time.
func (e *Engine) recentPositions(ctx context.Context, queue, id string) (map[string]int, error) {
	e.placing.Lock()
	defer e.placing.Unlock()
	if _, known := e.places[queue][id]; known && time.Since(e.placed[queue]) < 250*time.Millisecond {
		return e.places[queue], nil
	}
	began := time.Now()
	places, err := e.positions(ctx, queue)
	if err == nil {
		e.places[queue], e.placed[queue] = places, began
	}
	return places, err
}

// positions returns the places of work in a queue, from 1, as if each customer had one turn after another.
func (e *Engine) positions(ctx context.Context, queue string) (map[string]int, error) {
	rows, err := e.rows(ctx, dbos.WithFilterQueueName(queue), dbos.WithFilterStatus(dbos.WorkflowStatusEnqueued))
	if err != nil {
		return nil, err
	}
	sort.SliceStable(rows, func(i, j int) bool { return rows[i].Priority < rows[j].Priority }) // they come by time
	turns := map[string]int{}                                                                  // how many of each customer
	turn := make([]int, len(rows))
	for i, row := range rows {
		turns[row.QueuePartitionKey]++
		turn[i] = turns[row.QueuePartitionKey]
	}
	places := map[string]int{}
	for i, row := range rows {
		for customer, n := range turns {
			if customer != row.QueuePartitionKey {
				places[row.ID] += min(n, turn[i]-1)
			}
		}
		places[row.ID] += turn[i]
	}
	return places, nil
}

// Wait waits until work has ended and returns its status. Work that ends in this process is noticed at once, other work after at most a
// tenth of the time that has passed, and a second.
func (e *Engine) Wait(ctx context.Context, id string) (*Status, error) {
	return e.WaitUntil(ctx, id, func(*Status) bool { return false })
}

// WaitUntil is Wait that also ends when reached returns true.
func (e *Engine) WaitUntil(ctx context.Context, id string, reached func(*Status) bool) (*Status, error) {
	var last *Status
	err := e.follow(ctx, id, func() (again bool, err error) {
		last, err = e.Get(ctx, id)
		return err == nil && !last.State.Ended() && !reached(last), err
	})
	return last, err
}

// Events calls each with the events of work from the given number, counted from 0, until the work has ended. An error of each ends it and
// is returned.
func (e *Engine) Events(ctx context.Context, id string, from int, each func(number int, event json.RawMessage) error) error {
	return e.follow(ctx, id, func() (again bool, err error) {
		status, err := e.Get(ctx, id) // before the events: it emits none after its end
		if err != nil {
			return false, err
		}
		events, _, err := dbos.ReadStream[json.RawMessage](e.with(ctx), id, "events", dbos.WithReadStreamSnapshot(), dbos.WithReadStreamFromOffset(from))
		if err != nil {
			return false, explain("reading the events of "+id, err)
		}
		for _, event := range events {
			if err := each(from, event); err != nil {
				return false, err
			}
			from++
		}
		return !status.State.Ended(), nil
	})
}

// follow calls look when work may have changed, until it returns false.
func (e *Engine) follow(ctx context.Context, id string, look func() (again bool, err error)) error {
	defer e.bell.ring(id) // nobody else may listen
	began, pause := time.Now(), time.Duration(0)
	for {
		changed := e.bell.listen(id)
		again, err := look()
		if err != nil || !again {
			return err
		}
		pause = min(max(time.Since(began)/10, pause+2*time.Millisecond), time.Second)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-e.ended.Done():
			return ErrClosed
		case <-changed:
			pause = 0 // what this process does is in the database in a moment
		case <-time.After(pause):
		}
	}
}
