package schedules

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/durable"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// world is a project's state, with what its followers did.
type world struct {
	*testing.T
	place string
	store store.Store
	runs  chan string // names, each when it begins
	run   func(ctx context.Context, name string) (Outcome, error)

	mu    sync.Mutex
	notes []string
}

// stopped is a context that has ended: nobody waits for runs.
var stopped = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func newWorld(t *testing.T) *world {
	place := filepath.Join(t.TempDir(), "state.db")
	s, err := sqlite.Open(t.Context(), place, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &world{T: t, place: place, store: s, runs: make(chan string, 1000), run: func(context.Context, string) (Outcome, error) { return Outcome{}, nil }}
}

func (w *world) host() Host {
	return Host{
		Run: func(ctx context.Context, name string, s config.Schedule, _ Flow) (Outcome, error) {
			w.runs <- name
			return w.run(ctx, name)
		},
		Note: func(row audit.Schedule) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.notes = append(w.notes, strings.TrimSpace(fmt.Sprint(row.Schedule, " ", row.Event, " ", row.Count, " ", row.Error)))
		},
		Log: slog.New(slog.NewTextHandler(w.Output(), nil)),
	}
}

// follower returns a follower with an engine of its own, which is closed at the end of the test.
func (w *world) follower(ctx context.Context, change func(*durable.Options)) (*Follower, *durable.Engine) {
	w.Helper()
	f := NewFollower(ctx, w.host())
	o := f.options()
	o.State, o.Store = w.place, w.store
	if change != nil {
		change(&o)
	}
	e, err := durable.Open(w.Context(), o)
	if err != nil {
		w.Fatal(err)
	}
	if err := f.launch(w.Context(), e, w.store); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		f.stop(context.Background())
		if err := e.Close(context.Background()); err != nil {
			w.Errorf("Close() = %v", err)
		}
	})
	return f, e
}

// follow has a follower follow schedules, by name and cron.
func (w *world) follow(f *Follower, schedules ...string) {
	w.Helper()
	all := map[string]config.Schedule{}
	for i := 0; i < len(schedules); i += 2 {
		all[schedules[i]] = config.Schedule{Cron: schedules[i+1], Script: "a.ts"}
	}
	if err := f.Follow(all); err != nil {
		w.Fatal(err)
	}
}

// await waits until the notes have a text.
func (w *world) await(want string) {
	w.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		w.mu.Lock()
		there := slices.Contains(w.notes, want)
		w.mu.Unlock()
		if there {
			return
		}
		if time.Since(began) > time.Minute {
			w.Fatalf("no note %q among %q", want, w.notes)
		}
	}
}

// TestOnce has two processes, of two groups, follow a schedule: each time runs once. A schedule that is added is followed, too.
func TestOnce(t *testing.T) {
	w := newWorld(t)
	f, e := w.follower(t.Context(), nil)
	g, _ := w.follower(t.Context(), func(o *durable.Options) { o.Group = group })
	w.follow(f, "often", "@every 1s")
	w.follow(g, "often", "@every 1s")
	for range 3 {
		<-w.runs
	}
	w.follow(f, "often", "@every 1s", "other", "@every 1s")
	for name := range w.runs {
		if name == "other" {
			break
		}
	}
	w.follow(f, "other", "@every 1s")
	w.follow(g)
	if names := f.Names(); !slices.Equal(names, []string{"other"}) {
		t.Errorf("Names() = %q, want other", names)
	}
	often := func() (n int) {
		seen := map[string]bool{}
		for _, work := range await(t, e) {
			if seen[work.ID] || work.State != durable.Done && !strings.Contains(work.Error, "has no schedule often any more") {
				t.Errorf("work %+v, want each id once, and done", work)
			}
			if seen[work.ID] = true; strings.HasPrefix(work.ID, "often@") {
				n++
			}
		}
		return n
	}
	// A time that had come already may still be there; others do not come.
	for range 2 {
		for <-w.runs != "other" {
		}
	}
	before := often()
	for range 3 {
		for <-w.runs != "other" {
		}
	}
	if n := often(); n != before || n < 3 {
		t.Errorf("%d runs of a schedule that was removed, after %d, want no more, and 3 at least", n, before)
	}
}

// TestOverlap has a run that takes longer than the time between two: the next times are skipped, in another process too.
func TestOverlap(t *testing.T) {
	w := newWorld(t)
	finish := make(chan bool)
	w.run = func(ctx context.Context, _ string) (Outcome, error) {
		select {
		case <-finish:
			return Outcome{ExitCode: 3, Message: "so it ended"}, nil
		case <-ctx.Done():
			return Outcome{ExitCode: 130, Message: context.Cause(ctx).Error()}, nil
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	f, e := w.follower(ctx, nil)
	w.follow(f, "slow", "@every 1s")
	<-w.runs
	f.stop(stopped) // another process follows it from now on
	g, _ := w.follower(t.Context(), nil)
	w.follow(g, "slow", "@every 1s")
	w.await("slow skipped 1")
	if len(w.runs) != 0 {
		t.Errorf("%d more runs, want none", len(w.runs))
	}
	finish <- true
	<-w.runs
	g.stop(stopped)
	finish <- true
	outcomes := map[string]bool{}
	for _, work := range await(t, e) {
		outcomes[string(work.Result)] = true
	}
	for _, want := range []string{`{"exitCode":3,"message":"so it ended"}`, `{"exitCode":0,"skipped":true}`} {
		if !outcomes[want] {
			t.Errorf("results %v, want %s among them", outcomes, want)
		}
	}
	// The end of the process interrupts a run, and that is its outcome.
	w.follow(f, "last", "@every 1s")
	<-w.runs
	f.stop(stopped)
	cancel(errors.New("it has ended"))
	list := await(t, e)
	if got, want := string(list[0].Result), `{"exitCode":130,"message":"it has ended"}`; got != want {
		t.Errorf("result = %s, want %s", got, want)
	}
}

// await waits until all runs have ended, and returns them, the latest first.
func await(t *testing.T, e *durable.Engine) []durable.Status {
	t.Helper()
	list, err := e.List(t.Context(), durable.Filter{Kind: kind})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		s, err := e.Wait(t.Context(), list[i].ID)
		if err != nil {
			t.Fatal(err)
		}
		list[i] = *s
	}
	return list
}

// cut is a store whose leases cannot be renewed any more, as if the process was dead.
type cut struct {
	store.Store
	off *atomic.Bool
}

func (c cut) Lease(ctx context.Context, name, owner string, lasts time.Duration) (bool, error) {
	if c.off.Load() {
		return false, errors.New("cut off")
	}
	return c.Store.Lease(ctx, name, owner, lasts)
}

// TestUnknown has a process die in a run: another one of its group says that it is unknown what it has done, and does not repeat it.
func TestUnknown(t *testing.T) {
	w := newWorld(t)
	stuck := make(chan bool)
	defer close(stuck)
	w.run = func(context.Context, string) (Outcome, error) { <-stuck; return Outcome{}, nil }
	var off atomic.Bool
	f, _ := w.follower(t.Context(), func(o *durable.Options) {
		o.Store, o.Lease = cut{w.store, &off}, 500*time.Millisecond
	})
	w.follow(f, "nightly", "@every 1s")
	<-w.runs
	off.Store(true)
	f.stop(stopped)
	g, e := w.follower(t.Context(), func(o *durable.Options) { o.Lease = 500 * time.Millisecond })
	w.follow(g, "nightly", "@yearly")
	w.await("nightly unknown 1")
	list := await(t, e)
	if len(list) != 1 || list[0].State != durable.Unknown || !strings.Contains(list[0].Error, "unknown whether the call was made") || len(w.runs) != 0 {
		t.Errorf("runs %+v, want one that is unknown, and not repeated", list)
	}
}

// TestNotStarted has a schedule that cannot start: the record says why, and what to do.
func TestNotStarted(t *testing.T) {
	w := newWorld(t)
	w.run = func(context.Context, string) (Outcome, error) {
		return Outcome{}, cli.WithHint(errors.New("nobody has trusted it since ann@example.com"), "mcpgen trust")
	}
	f, _ := w.follower(t.Context(), nil)
	w.follow(f, "nightly", "@every 1s")
	w.await("nightly failed 1 nobody has trusted it since [EMAIL #1]; mcpgen trust")
}

// TestLate has work that was accepted long ago and not begun, because its process ended: its time was missed.
func TestLate(t *testing.T) {
	w := newWorld(t)
	f, e := w.follower(t.Context(), nil)
	w.follow(f, "nightly", "@yearly")
	if _, err := e.Start(t.Context(), kind, []byte(`"nightly"`), durable.Start{ID: "nightly@2026-01-01T00:00:00Z"}); err != nil {
		t.Fatal(err)
	}
	list := await(t, e)
	if len(list) != 1 || list[0].State != durable.Failed || len(w.runs) != 0 {
		t.Errorf("runs %+v, want one that failed and did not begin", list)
	}
	w.await("nightly missed 1")
}

// TestMissed has times at which nobody follows a schedule.
func TestMissed(t *testing.T) {
	w := newWorld(t)
	f, e := w.follower(t.Context(), nil)
	w.follow(f, "often", "@every 1s")
	<-w.runs
	await(t, e)
	f.stop(stopped)
	doc, err := w.store.Document(t.Context(), store.Key{Kind: "schedule", Name: "often"})
	if err != nil {
		t.Fatal(err)
	}
	doc.Value = fmt.Appendf(nil, `{"cron": "@every 1s", "last": %q}`, time.Now().Add(-time.Hour).Format(time.RFC3339))
	if _, err := w.store.SetDocument(t.Context(), doc); err != nil {
		t.Fatal(err)
	}
	for len(w.runs) > 0 {
		<-w.runs
	}
	g, _ := w.follower(t.Context(), nil)
	w.follow(g, "often", "@every 1s")
	<-w.runs
	w.mu.Lock()
	defer w.mu.Unlock()
	// A busy machine misses some more, each of which is a note of its own.
	if len(w.notes) == 0 || w.notes[0] != "often missed 999" && w.notes[0] != "often missed 1000" {
		t.Errorf("notes = %q, want one of a thousand missed times first", w.notes)
	}
}

// TestWorkflowGoesOn has a process end while the workflow of a schedule waits: the next one continues it, even if a later run has begun, and it
// takes no room from others.
func TestWorkflowGoesOn(t *testing.T) {
	w := newWorld(t)
	all := map[string]config.Schedule{"flow": {Cron: "@every 1s", Workflow: "flow.yaml"}}
	type begun struct {
		id    string
		slots int
	}
	runs, ends := make(chan begun, 100), make(chan struct{})
	follow := func() (*Follower, *durable.Engine) {
		f, e := w.follower(t.Context(), nil)
		f.host.Run = func(ctx context.Context, _ string, _ config.Schedule, flow Flow) (Outcome, error) {
			leave, err := flow.Turn(ctx)
			if err != nil {
				return Outcome{}, err
			}
			leave()
			runs <- begun{flow.ID, len(f.slots)}
			select {
			case <-ends:
				return Outcome{ExitCode: 3}, nil
			case <-ctx.Done():
				return Outcome{ExitCode: 1, Message: "interrupted"}, context.Cause(ctx)
			}
		}
		if err := f.Follow(all); err != nil {
			t.Fatal(err)
		}
		return f, e
	}
	f, e := follow()
	first := <-runs
	if name, _, _ := strings.Cut(first.id, "-"); name != "flow" || first.slots != 0 {
		t.Errorf("the first run is of %q, with %d turns taken; want flow-TIME, and 0", first.id, first.slots)
	}
	f.stop(context.Background())
	if err := e.Close(stopped); err != nil {
		t.Fatal(err)
	}
	if held, err := w.store.Lease(t.Context(), "scheduled/flow", "flow@later", time.Hour); err != nil || !held {
		t.Fatalf("Lease() = %v, %v: the first run has left its lease", held, err)
	}
	_, e = follow()
	if again := <-runs; again.id != first.id {
		t.Errorf("the next process ran %q, want %q", again.id, first.id)
	}
	close(ends)
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		list, err := e.List(t.Context(), durable.Filter{Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(list, func(s durable.Status) bool {
			return s.State == durable.Done && strings.Contains(string(s.Result), `"exitCode":3`)
		}) {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("works %+v, want one with exit code 3", list)
		}
	}
}

// TestFlowID checks that the ids of workflows are valid, and differ where those of runs do.
func TestFlowID(t *testing.T) {
	long := strings.Repeat("n", 64)
	for id, want := range map[string]string{
		"nightly@2026-07-01T02:00:00+02:00": "nightly-20260701T000000Z",
		long + "@2026-07-01T02:00:00Z":      strings.Repeat("n", 23) + "-",
	} {
		if got := flowID(id); !strings.HasPrefix(got, want) || len(got) > 64 {
			t.Errorf("flowID(%q) = %q, want %s…, at most 64 bytes", id, got, want)
		}
	}
}
