package durable

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
)

// TestGroups has engines of two groups, which register different kinds: neither runs the other's work.
func TestGroups(t *testing.T) {
	eachState(t, func(t *testing.T, o Options) {
		finish := make(chan bool)
		defer close(finish)
		wait := func(w *Work, _ json.RawMessage) (json.RawMessage, error) {
			select {
			case <-finish:
			case <-w.Context().Done():
			}
			return nil, nil
		}
		other := o
		other.Group, other.Store = "daemon", expired{o.Store} // to it, all others are dead
		daemon, own := open(t, other, map[string]Func{"other": wait}), open(t, o, map[string]Func{"job": wait})
		start(t, own, "job", nil)
		id, err := open(t, o, nil).Start(t.Context(), "job", nil, Start{Queue: "jobs"})
		if err == nil {
			t.Fatalf("Start() = %s in a queue that does not exist", id)
		}
		queue := Queue{Name: "jobs", Concurrency: 1}
		for _, e := range []*Engine{daemon, own} {
			if err := e.AddQueue(t.Context(), queue); err != nil {
				t.Fatal(err)
			}
		}
		if none, one := dbos.ListenedQueues(open(t, o, nil).root), dbos.ListenedQueues(own.root); len(none) != 1 || none[0] != "" || len(one) != 1 || one[0] != "jobs" {
			t.Errorf("engines listen to the queues %q and %q, want to those that they added", none, one)
		}
		if dead, err := daemon.dead(t.Context()); err != nil || len(dead) != 0 {
			t.Errorf("dead() of another group = %v, %v, want none", dead, err)
		}
		same := o
		same.Store = expired{o.Store}
		if dead, err := open(t, same, nil).dead(t.Context()); err != nil || len(dead) != 1 || dead[0] != own.executor.name {
			t.Errorf("dead() of the group = %v, %v, want %s", dead, err, own.executor.name)
		}
		// The queue is served by both, but each looks for the work of its group.
		var ids []string
		for range 2 {
			id, err := own.Start(t.Context(), "job", nil, Start{Queue: "jobs"})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		finish <- true // the work that was started without a queue
		for _, id := range ids {
			finish <- true
			if s, err := own.Wait(t.Context(), id); err != nil || s.State != Done {
				t.Errorf("work in the queue = %+v, %v, want done", s, err)
			}
		}
	})
}

// TestStranded ends work whose group has had no process for long, and no other.
func TestStranded(t *testing.T) {
	eachState(t, func(t *testing.T, o Options) {
		o.Lease = 300 * time.Millisecond
		in := func(group string) Options { own := o; own.Group = group; return own }
		begun := make(chan string, 10)
		kinds := map[string]Func{"job": func(w *Work, _ json.RawMessage) (json.RawMessage, error) {
			begun <- w.ID
			<-w.Context().Done()
			return nil, w.Context().Err()
		}}
		queue := Queue{Name: "jobs", Concurrency: 1}
		var left []string // what two engines have left behind: work that has begun, and work in a queue
		for _, group := range []string{"a-1", "a-2"} {
			e := open(t, in(group), kinds)
			if err := e.AddQueue(t.Context(), Queue{Name: "jobs-" + group, Concurrency: 1}); err != nil {
				t.Fatal(err)
			}
			left = append(left, start(t, e, "job", nil))
			<-begun
			for range 2 {
				id, err := e.Start(t.Context(), "job", nil, Start{Queue: "jobs-" + group, Customer: "ada"})
				if err != nil {
					t.Fatal(err)
				}
				left = append(left, id)
			}
			<-begun
			if err := e.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		e := open(t, in("a-3"), kinds)
		if err := e.AddQueue(t.Context(), queue); err != nil {
			t.Fatal(err)
		}
		own := start(t, e, "job", nil)
		why := func(s *Status) string { return "nobody can: " + string(s.State) }
		end := func(after time.Duration) int {
			t.Helper()
			ended, err := e.EndStranded(t.Context(), "job", after, why)
			if err != nil {
				t.Fatal(err)
			}
			return len(ended)
		}
		for _, id := range left {
			if s, err := e.Get(t.Context(), id); err != nil || s.State.Ended() {
				t.Fatalf("Get() = %+v, %v, want it open", s, err)
			}
		}
		if n := end(time.Hour); n != 0 {
			t.Errorf("EndStranded() ended %d at once, want none", n)
		}
		back := open(t, in("a-1"), map[string]Func{"job": kinds["job"]}) // it continues its work, so that the time counts from its end
		if n := end(time.Hour); n != 0 || len(marksOf(t, o)) != 1 {
			t.Errorf("EndStranded() ended %d, and %v are absent, want none, and a-2", n, marksOf(t, o))
		}
		for group := range marksOf(t, o) { // they last for an hour
			if err := o.Store.Release(t.Context(), group, markOwner); err != nil {
				t.Fatal(err)
			}
		}
		if n := end(time.Millisecond); n != 0 {
			t.Errorf("EndStranded() ended %d when it saw them first, want none", n)
		}
		until(t, func() bool { return marksOf(t, o)[marks+"a-2"] })
		late := open(t, in("a-4"), kinds)
		if some, err := late.EndStranded(t.Context(), "job", time.Hour, why); err != nil || len(some) != 0 {
			t.Errorf("EndStranded() of a process that has just begun = %v, %v, want none", some, err)
		}
		if n := end(time.Millisecond); n != 3 || len(marksOf(t, o)) != 0 {
			t.Errorf("EndStranded() ended %d, and %v are absent, want the 3 of a-2", n, marksOf(t, o))
		}
		var states []string
		for _, id := range append(left[3:], own, left[0]) {
			s, err := back.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			states = append(states, string(s.State)+" "+s.Error)
		}
		if want := []string{"failed nobody can: running", "failed nobody can: running", "failed nobody can: queued", "running ", "running "}; !slices.Equal(states, want) {
			t.Errorf("states = %q, want %q", states, want)
		}
	})
}

// marksOf returns the marks of groups, and whether they have expired.
func marksOf(t *testing.T, o Options) map[string]bool {
	t.Helper()
	leases, err := o.Store.Leases(t.Context(), marks)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, l := range leases {
		all[l.Name] = l.Expired
	}
	return all
}

// TestElsewhere has one engine that can do no work, and another one that can.
func TestElsewhere(t *testing.T) {
	eachState(t, func(t *testing.T, o Options) {
		o.Lease = 150 * time.Millisecond
		tried := make(chan bool, 100)
		unable := open(t, o, map[string]Func{"job": func(*Work, json.RawMessage) (json.RawMessage, error) {
			tried <- true
			return nil, fmt.Errorf("no key: %w", ErrElsewhere)
		}})
		id := start(t, unable, "job", nil)
		<-tried
		<-tried // it is put back
		if s, err := unable.Get(t.Context(), id); err != nil || s.State.Ended() {
			t.Errorf("Get() = %+v, %v, want it open", s, err)
		}
		able := open(t, o, map[string]Func{"job": func(*Work, json.RawMessage) (json.RawMessage, error) { return json.Marshal("done") }})
		if s := wait(t, able, id); s.State != Done {
			t.Errorf("status = %+v, want done", s)
		}
	})
}
