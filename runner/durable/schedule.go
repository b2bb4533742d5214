package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// Schedule starts work at the times of a schedule, once over all processes, until the engine is closed. The first time follows the first
// call with the name; times that pass while no process follows the schedule are missed. The engine must be launched.
func (e *Engine) Schedule(s Schedule) error {
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
	e.loops.Go(func() {
		for e.ended.Err() == nil {
			next, err := e.fire(e.ended, s, times, time.Now())
			if err != nil && e.ended.Err() == nil {
				e.log.Warn("schedule", "name", s.Name, "error", err)
				next = time.Now().Add(5 * time.Second)
			}
			select {
			case <-e.ended.Done():
			// Timers stand still while a machine sleeps.
			case <-time.After(min(max(time.Until(next.Round(0)), time.Millisecond), grace/2)):
			}
		}
	})
	return nil
}

// fire starts what is due, reports what was missed, and returns when to look again. The document of a schedule has the last time that was
// dealt with.
func (e *Engine) fire(ctx context.Context, s Schedule, times cron.Schedule, now time.Time) (next time.Time, err error) {
	key := store.Key{Kind: "schedule", Name: s.Name}
	doc, err := e.store.Document(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		doc, err = &store.Document{Key: key}, nil
		if doc.Value, err = json.Marshal(now); err == nil {
			if _, err = e.store.SetDocument(ctx, doc); errors.Is(err, store.ErrConflict) {
				return now, nil
			}
		}
		return times.Next(now), err
	}
	if err != nil {
		return now, err
	}
	var last time.Time
	if err := json.Unmarshal(doc.Value, &last); err != nil {
		return now, fmt.Errorf("schedule %s: its state in the database: %w", s.Name, err)
	}
	var due []time.Time
	for t := times.Next(last); !t.After(now); t = times.Next(t) {
		due = append(due, t)
		due = due[max(0, len(due)-1000):]
	}
	if len(due) == 0 {
		return times.Next(last), nil
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
	}
	if err := e.report(ctx, s, due); err != nil {
		return now, err
	}
	doc.Value, err = json.Marshal(newest)
	if err != nil {
		return now, err
	}
	if _, err = e.store.SetDocument(ctx, doc); errors.Is(err, store.ErrConflict) {
		return now, nil
	}
	return times.Next(newest), err
}

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
func (e *Engine) report(ctx context.Context, s Schedule, due []time.Time) error {
	var missed []time.Time
	for _, at := range due {
		_, err := e.Get(ctx, s.id(at))
		if errors.Is(err, store.ErrNotFound) {
			missed = append(missed, at)
		} else if err != nil {
			return err
		}
	}
	if len(missed) == 0 {
		return nil
	}
	if e.missed == nil {
		e.log.Warn("schedule missed", "name", s.Name, "times", len(missed), "last", missed[len(missed)-1])
		return nil
	}
	e.missed(s.Name, missed)
	return nil
}
