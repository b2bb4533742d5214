package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/mcpgen/mcpgen/runner/store"
)

// grace is how late scheduled work may start. What would start later was missed.
const grace = time.Minute

// Schedule starts work at times.
type Schedule struct {
	Name string
	// Cron has the five fields of crontab(5), or is such as "@daily" or "@every 10m". Times are those of the local time zone, unless it
	// begins with "CRON_TZ=Europe/Berlin ".
	Cron  string
	Kind  string
	Input json.RawMessage
	// Start says how it is started. Its ID is that of the schedule, with the time.
	Start Start
}

// Schedule starts work at the times of a schedule, once over all processes, until ctx is done or the engine is closed. The first time follows
// the first call with the name and the cron; later times that pass while no process follows the schedule are missed. The engine must be
// launched.
func (e *Engine) Schedule(ctx context.Context, s Schedule) error {
	times, err := cron.ParseStandard(s.Cron)
	if err != nil {
		return fmt.Errorf("schedule %s: %q: %w", s.Name, s.Cron, err)
	}
	if times.Next(time.Now()).IsZero() {
		return fmt.Errorf("schedule %s: %q never happens", s.Name, s.Cron)
	}
	if e.kinds[s.Kind] == nil {
		return fmt.Errorf("schedule %s: no kind of work has the name %q", s.Name, s.Kind)
	}
	ctx, cancel := context.WithCancel(ctx)
	unbind := context.AfterFunc(e.ended, cancel)
	e.loops.Go(func() {
		defer func() { unbind(); cancel() }()
		for ctx.Err() == nil {
			next, err := e.fire(ctx, s, times, time.Now())
			if err != nil && ctx.Err() == nil {
				e.log.Warn("schedule", "name", s.Name, "error", err)
				next = time.Now().Add(5 * time.Second)
			}
			select {
			case <-ctx.Done():
			// Timers stand still while a machine sleeps.
			case <-time.After(min(max(time.Until(next.Round(0)), time.Millisecond), grace/2)):
			}
		}
	})
	return nil
}

// kept is the document of a schedule.
type kept struct {
	Cron    string    `json:"cron"`
	Last    time.Time `json:"last"`    // that was dealt with
	Started time.Time `json:"started"` // the last time whose work was started; zero: none was
	Missed  int       `json:"missed"`  // times since then
}

// fire starts what is due, reports what was missed, and returns when to look again.
func (e *Engine) fire(ctx context.Context, s Schedule, times cron.Schedule, now time.Time) (next time.Time, err error) {
	doc, state, err := e.schedule(ctx, s.Name)
	if err != nil {
		return now, err
	}
	if state.Cron != s.Cron { // it is new
		state.Cron, state.Last, state.Missed = s.Cron, now, 0
		err := e.keep(ctx, doc, state)
		if errors.Is(err, store.ErrConflict) {
			return now, nil
		}
		return times.Next(now), err
	}
	var due []time.Time
	for t := times.Next(state.Last); !t.After(now); t = times.Next(t) {
		due = append(due, t)
		due = due[max(0, len(due)-1000):]
	}
	if len(due) == 0 {
		return times.Next(state.Last), nil
	}
	lease := "schedule/" + s.Name
	held, err := e.store.Lease(ctx, lease, e.executor.name, e.executor.lasts)
	if err != nil {
		return now, err
	}
	if !held { // another process deals with it
		return now.Add(min(e.executor.lasts, time.Second)), nil
	}
	defer e.store.Release(context.WithoutCancel(ctx), lease, e.executor.name)
	newest := due[len(due)-1]
	if now.Sub(newest) <= grace {
		if err := e.startDue(ctx, s, newest); err != nil {
			return now, err
		}
		due = due[:len(due)-1]
		state.Started, state.Missed = newest, 0
	}
	missed, err := e.report(ctx, s, due)
	if err != nil {
		return now, err
	}
	if state.Last = newest; !state.Started.Equal(newest) {
		state.Missed += missed
	}
	if err = e.keep(ctx, doc, state); errors.Is(err, store.ErrConflict) {
		return now, nil
	}
	return times.Next(newest), err
}

// schedule returns the document of a schedule, and what is in it. One that does not exist is empty.
func (e *Engine) schedule(ctx context.Context, name string) (*store.Document, kept, error) {
	var state kept
	key := store.Key{Kind: "schedule", Name: name}
	doc, err := e.store.Document(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return &store.Document{Key: key}, state, nil
	}
	if err != nil {
		return nil, state, err
	}
	if err := json.Unmarshal(doc.Value, &state); err != nil {
		return nil, state, fmt.Errorf("schedule %s: its state in the database: %w", name, err)
	}
	return doc, state, nil
}

func (e *Engine) keep(ctx context.Context, doc *store.Document, state kept) (err error) {
	if doc.Value, err = json.Marshal(state); err != nil {
		return err
	}
	_, err = e.store.SetDocument(ctx, doc)
	return err
}

// KeepSchedules forgets the schedules with other names. The first time of one that comes back follows that.
func (e *Engine) KeepSchedules(ctx context.Context, names []string) error {
	docs, err := e.store.ListDocuments(ctx, "", "schedule")
	for _, doc := range docs {
		if !slices.Contains(names, doc.Name) {
			err = errors.Join(err, e.store.DeleteDocument(ctx, doc.Key))
		}
	}
	return err
}

// Scheduled says how far a schedule is.
type Scheduled struct {
	Next   time.Time
	Last   *Status // the work that it started last; nil: none that is known
	Missed int     // times since then, at most some 1000
}

// Scheduled says how far a schedule is; Kind and Input do not matter.
func (e *Engine) Scheduled(ctx context.Context, s Schedule, now time.Time) (*Scheduled, error) {
	times, err := cron.ParseStandard(s.Cron)
	if err != nil {
		return nil, fmt.Errorf("schedule %s: %q: %w", s.Name, s.Cron, err)
	}
	_, state, err := e.schedule(ctx, s.Name)
	if err != nil {
		return nil, err
	}
	out := &Scheduled{Next: times.Next(now)}
	if state.Cron == s.Cron {
		out.Missed = state.Missed
		out.Next = times.Next(state.Last)
		for ; now.Sub(out.Next) > grace && out.Missed < 1000; out.Next = times.Next(out.Next) {
			out.Missed++
		}
		if out.Next.Before(now) {
			out.Next = times.Next(now)
		}
	}
	if state.Started.IsZero() {
		return out, nil
	}
	out.Last, err = e.Get(ctx, s.id(state.Started))
	if errors.Is(err, store.ErrNotFound) { // it was forgotten
		return out, nil
	}
	return out, err
}

// id names the work of a time.
func (s Schedule) id(at time.Time) string { return s.Name + "@" + at.UTC().Format(time.RFC3339) }

func (e *Engine) startDue(ctx context.Context, s Schedule, at time.Time) error {
	start := s.Start
	start.ID = s.id(at)
	_, err := e.Start(ctx, s.Kind, s.Input, start)
	if errors.Is(err, ErrExists) {
		return nil
	}
	return err
}

// report tells of times that were missed. A process may have died right after it started the work of one.
func (e *Engine) report(ctx context.Context, s Schedule, due []time.Time) (n int, err error) {
	var missed []time.Time
	for _, at := range due {
		_, err := e.Get(ctx, s.id(at))
		if errors.Is(err, store.ErrNotFound) {
			missed = append(missed, at)
		} else if err != nil {
			return 0, err
		}
	}
	switch {
	case len(missed) == 0:
	case e.missed == nil:
		e.log.Warn("schedule missed", "name", s.Name, "times", len(missed), "last", missed[len(missed)-1])
	default:
		e.missed(s.Name, missed)
	}
	return len(missed), nil
}
