// Package schedules runs what schedules: in mcpgen.yaml names, in mcprun serve and in the daemon, and has the command schedule. Package
// durable starts each time once over all processes; a run is one of mcprun's own command line.
package schedules

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/durable"
	"github.com/mcpgen/mcpgen/runner/store"
)

const (
	// kind is the kind of durable work that runs a schedule once. Its input is the schedule's name.
	kind = "schedule.v1"
	// atOnce bounds the runs of one follower at the same time; others wait.
	atOnce = 4
	// keep is how long the outcome of a run is kept as work; the record has its own time.
	keep = 30 * 24 * time.Hour
	// latest is how late a run may begin that a process had accepted and, because it ended, not begun.
	latest = 5 * time.Minute
	// leaseTime is how long a process that died still counts as running its schedules.
	leaseTime = 15 * time.Second
)

// The names of leases.
const (
	followers = "schedules/" // one for each process that follows schedules
	runs      = "scheduled/" // one for each schedule that runs, so that its runs do not overlap
)

// Outcome is how a run of a schedule ended. It is the result of the durable work.
type Outcome struct {
	ExitCode int    `json:"exitCode"`
	Message  string `json:"message,omitempty"` // with tokens for personal data; empty if it succeeded
	Skipped  bool   `json:"skipped,omitempty"` // the run before was still going on
}

// Host is what a Follower runs schedules with.
type Host struct {
	// Run runs a schedule once. An error means that it did not run.
	Run func(ctx context.Context, name string, s config.Schedule, flow Flow) (Outcome, error)
	// Note adds a row to the record.
	Note func(audit.Schedule)
	Log  *slog.Logger
}

// Flow is what a run of a workflow has, which waits without taking room from others.
type Flow struct {
	// ID is that of the workflow. If there is one already, it is continued.
	ID string
	// Turn waits until a part may run; leave is called after it.
	Turn func(ctx context.Context) (leave func(), err error)
}

// Follower runs the schedules of a project. Its methods must not be called by several goroutines.
type Follower struct {
	host   Host
	ctx    context.Context // its end interrupts runs
	flows  context.Context // its end interrupts workflows, which go on in another process or in the next one
	stay   context.CancelFunc
	name   string // of the lease while schedules are followed
	slots  chan struct{}
	begun  chan struct{}   // closed by the first Follow
	engine *durable.Engine // nil: not open yet
	leases store.Leases
	leave  func() // releases the lease; nil: it is not held
	forgot time.Time

	works sync.WaitGroup // those of durable work in progress

	mu  sync.Mutex
	now map[string]*followed
}

// followed is a schedule that is followed.
type followed struct {
	config.Schedule
	cancel context.CancelFunc
}

// NewFollower returns a Follower that follows nothing. Its runs are interrupted when ctx ends.
func NewFollower(ctx context.Context, h Host) *Follower {
	f := &Follower{host: h, ctx: ctx, name: followers + rand.Text(), slots: make(chan struct{}, atOnce), begun: make(chan struct{}), now: map[string]*followed{}}
	f.flows, f.stay = context.WithCancel(ctx)
	return f
}

// Open opens the durable work in a project's state, the first time. The group is that of [durable.Options].
func (f *Follower) Open(ctx context.Context, s *state.Shared, group string) error {
	if f.engine != nil {
		return nil
	}
	kept, err := s.Open(ctx)
	if err != nil {
		return err
	}
	o := f.options()
	o.Group = group
	e, err := s.Engine(ctx, o)
	if err != nil {
		return err
	}
	return f.launch(ctx, e, kept)
}

func (f *Follower) options() durable.Options {
	return durable.Options{Missed: f.missed, Logger: f.host.Log}
}

// launch makes an engine run schedules.
func (f *Follower) launch(ctx context.Context, e *durable.Engine, leases store.Leases) error {
	f.leases = leases
	e.Register(kind, f.work)
	if err := e.Launch(ctx); err != nil {
		return errors.Join(err, e.Close(ctx))
	}
	f.engine = e
	return nil
}

// IsOpen reports whether the durable work is open.
func (f *Follower) IsOpen() bool { return f.engine != nil }

// Close starts no further runs, waits for those in progress until ctx ends, and closes the durable work. Then the state may be closed.
func (f *Follower) Close(ctx context.Context) error {
	if f.engine == nil {
		return nil
	}
	f.stop(ctx)
	over, cancel := context.WithCancel(ctx)
	cancel() // what has not ended by now waits for the end of the engine
	return f.engine.Close(over)
}

// Follow makes schedules those that are followed, after Open. A run in progress goes on.
func (f *Follower) Follow(schedules map[string]config.Schedule) error {
	if f.forgot.IsZero() {
		defer close(f.begun)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	removed := f.forgot.IsZero() // perhaps since others followed it
	if time.Since(f.forgot) > time.Hour {
		f.forgot = time.Now()
		if _, err := f.engine.Forget(f.ctx, f.forgot.Add(-keep), kind); err != nil {
			f.host.Log.Warn("old runs of schedules are kept", "error", err)
		}
	}
	for name, old := range f.now {
		s, ok := schedules[name]
		if removed = removed || !ok; ok && s.Cron == old.Cron && s.Customer == old.Customer {
			old.Schedule = s
			continue
		}
		old.cancel()
		delete(f.now, name)
	}
	if removed {
		if err := f.engine.KeepSchedules(f.ctx, slices.Collect(maps.Keys(schedules))); err != nil {
			return err
		}
	}
	if err := f.show(len(schedules) > 0); err != nil {
		return err
	}
	for name, s := range schedules {
		if f.now[name] != nil {
			continue
		}
		ctx, cancel := context.WithCancel(f.ctx)
		input, _ := json.Marshal(name)
		err := f.engine.Schedule(ctx, durable.Schedule{Name: name, Cron: s.Cron, Kind: kind, Input: input, Start: durable.Start{Customer: s.Customer}})
		if err != nil {
			cancel()
			return err
		}
		f.now[name] = &followed{s, cancel}
	}
	return nil
}

// show takes or releases the lease by which others see that schedules are followed.
func (f *Follower) show(follows bool) (err error) {
	switch {
	case follows && f.leave == nil:
		f.leave, _, err = f.hold(f.name, f.name)
	case !follows && f.leave != nil:
		f.leave()
		f.leave = nil
	}
	return err
}

// Names returns the names of the schedules that are followed, sorted.
func (f *Follower) Names() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.now))
}

// stop starts no further runs, interrupts workflows, and waits for other runs in progress until ctx ends.
func (f *Follower) stop(ctx context.Context) {
	f.stay()
	f.mu.Lock()
	for _, s := range f.now {
		s.cancel()
	}
	f.now = map[string]*followed{}
	_ = f.show(false)
	f.mu.Unlock()
	done := make(chan struct{})
	go func() { f.works.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// work runs a schedule once. A run that the death of its process has interrupted is not repeated: nobody knows what it has done. A workflow
// goes on.
func (f *Follower) work(w *durable.Work, input json.RawMessage) (json.RawMessage, error) {
	f.works.Add(1)
	done := sync.OnceFunc(f.works.Done)
	defer done()
	var name string
	if err := json.Unmarshal(input, &name); err != nil {
		return nil, err
	}
	s, err := f.schedule(w.Context(), name)
	if err != nil {
		return nil, err
	}
	flows, begins := s != nil && s.Workflow != "", true
	if flows {
		begins = false
		if _, err := durable.Step(w, "begin", func(context.Context) (bool, error) { begins = true; return true, nil }); err != nil {
			return nil, err
		}
	}
	out, err := durable.Call(w, "the run of "+name, flows, func(ctx context.Context) (Outcome, error) {
		out, err := f.run(ctx, w.ID, name, s, begins)
		if flows && f.flows.Err() != nil {
			done()
			<-ctx.Done() // nothing is kept of it
			return out, ctx.Err()
		}
		return out, err
	})
	if _, unknown := errors.AsType[*durable.UnknownError](err); unknown {
		f.host.Log.Error("a run of a schedule was interrupted by the death of its process; what it has done is unknown, and it is not repeated", "schedule", name, "run", w.ID)
		f.note(name, "unknown", "")
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// schedule returns a schedule as it is now, or nil if it was removed, once it is known what there is.
func (f *Follower) schedule(ctx context.Context, name string) (*config.Schedule, error) {
	select {
	case <-f.begun:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.now[name]; s != nil {
		own := s.Schedule
		return &own, nil
	}
	return nil, nil
}

// flowID returns the id of the workflow that is the run of a schedule with this id: NAME@TIME.
func flowID(id string) string {
	name, text, _ := strings.Cut(id, "@")
	if len(name) > 40 {
		sum := sha256.Sum256([]byte(name))
		name = name[:23] + "-" + hex.EncodeToString(sum[:8])
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		text = at.UTC().Format("20060102T150405Z")
	}
	return name + "-" + text
}

// run runs a schedule unless it is running. begins says that no process has begun to run it.
func (f *Follower) run(ctx context.Context, id, name string, s *config.Schedule, begins bool) (Outcome, error) {
	if s == nil {
		return Outcome{}, fmt.Errorf("%s has no schedule %s any more", config.SettingsName, name)
	}
	_, text, _ := strings.Cut(id, "@")
	if at, err := time.Parse(time.RFC3339, text); err == nil && begins && time.Since(at) > latest {
		f.missed(name, []time.Time{at})
		return Outcome{}, errors.New("it was not begun in time")
	}
	leave, held, err := f.hold(runs+name, id)
	if err != nil {
		return Outcome{}, err
	}
	if !held && begins {
		f.host.Log.Warn("a schedule was skipped, because its last run is still going on", "schedule", name)
		f.note(name, "skipped", "")
		return Outcome{Skipped: true}, nil
	}
	if held { // else a workflow goes on beside the next one
		defer leave()
	}
	work := ctx
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(f.ctx)) // a workflow is other work, which no step of this one may start
	defer cancel(nil)
	defer context.AfterFunc(work, func() { cancel(context.Cause(work)) })()
	runs := f.ctx
	if s.Workflow != "" {
		runs = f.flows
	}
	defer context.AfterFunc(runs, func() { cancel(context.Cause(runs)) })()
	if s.Workflow == "" {
		leave, err := f.turn(ctx)
		if err != nil {
			return Outcome{}, err
		}
		defer leave()
	}
	began := time.Now()
	out, err := f.host.Run(ctx, name, *s, Flow{ID: flowID(id), Turn: f.turn})
	took := time.Since(began).Round(time.Millisecond)
	switch {
	case s.Workflow != "" && runs.Err() != nil:
		f.host.Log.Info("the workflow of a schedule waits for the next process", "schedule", name, "workflow", flowID(id))
	case err != nil:
		if hints := cli.Hints(err); len(hints) > 0 {
			err = fmt.Errorf("%w; %s", err, strings.Join(hints, "; "))
		}
		f.host.Log.Warn("a schedule did not run", "schedule", name, "error", err)
		if ctx.Err() == nil {
			f.note(name, "failed", err.Error())
		}
	case out.ExitCode != 0:
		f.host.Log.Warn("a run of a schedule failed", "schedule", name, "exit", out.ExitCode, "message", out.Message, "took", took)
	default:
		f.host.Log.Info("a schedule ran", "schedule", name, "took", took)
	}
	return out, err
}

// turn waits until there is room for a run, which leave gives back.
func (f *Follower) turn(ctx context.Context) (leave func(), err error) {
	select {
	case f.slots <- struct{}{}:
		return func() { <-f.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// hold takes a lease and renews it until release is called.
func (f *Follower) hold(name, owner string) (release func(), held bool, err error) {
	ctx := context.WithoutCancel(f.ctx)
	if held, err = f.leases.Lease(ctx, name, owner, leaseTime); err != nil || !held {
		return nil, false, err
	}
	done := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(leaseTime / 3):
			}
			if _, err := f.leases.Lease(ctx, name, owner, leaseTime); err != nil {
				f.host.Log.Debug("a lease was not renewed", "lease", name, "error", err)
			}
		}
	})
	return func() {
		close(done)
		work.Wait()
		if err := f.leases.Release(ctx, name, owner); err != nil {
			f.host.Log.Debug("a lease was not released", "lease", name, "error", err)
		}
	}, true, nil
}

// missed reports times at which no process followed a schedule.
func (f *Follower) missed(name string, times []time.Time) {
	first, last := times[0], times[len(times)-1]
	f.host.Log.Warn("a schedule missed its time: no mcprun serve or daemon followed it", "schedule", name, "times", len(times), "first", first, "last", last)
	f.host.Note(audit.Schedule{Schedule: name, Event: "missed", Count: len(times), First: first.UTC(), Last: last.UTC()})
}

func (f *Follower) note(name, event, text string) {
	now := time.Now().UTC().Truncate(time.Second)
	f.host.Note(audit.Schedule{Schedule: name, Event: event, Count: 1, First: now, Last: now, Error: audit.Text(private(text))})
}
