package durable

import (
	"encoding/json"
	"testing"
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
