package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos/internals"

	"github.com/mcpgen/mcpgen/runner/store"
)

// TestFull fills an SQLite file: new work is refused, work in progress waits at its step, and goes on when there is room.
func TestFull(t *testing.T) {
	o := newState(t)
	o.maxPages = 400 // of 4 KiB
	large := strings.Repeat("x", 100_000)
	goOn := make(chan bool)
	e := open(t, o, map[string]Func{
		"old": func(*Work, json.RawMessage) (json.RawMessage, error) { return json.Marshal(large) },
		"steps": func(w *Work, _ json.RawMessage) (json.RawMessage, error) {
			for i := range 6 {
				if _, err := Call(w, fmt.Sprint("call", i), true, func(context.Context) (string, error) { return large, nil }); err != nil {
					return nil, err
				}
			}
			return nil, nil
		},
		"result": func(*Work, json.RawMessage) (json.RawMessage, error) { <-goOn; return json.Marshal(large) },
	})
	result := start(t, e, "result", nil)
	for range 6 {
		wait(t, e, start(t, e, "old", nil))
	}
	steps := start(t, e, "steps", nil)
	until(t, func() bool {
		_, err := e.Start(t.Context(), "old", json.RawMessage(`"`+large+`"`), Start{})
		if err != nil && (!errors.Is(err, store.ErrFull) || !strings.Contains(err.Error(), "starting old ")) {
			t.Errorf("Start() = %v, want %v", err, store.ErrFull)
		}
		return err != nil
	})
	close(goOn)
	time.Sleep(100 * time.Millisecond) // it returns, and there is no room for its result
	for _, id := range []string{steps, result} {
		if s, err := e.Get(t.Context(), id); err != nil || s.State.Ended() {
			t.Errorf("Get() = %+v, %v; want work that has not ended", s, err)
		}
	}
	if n, err := e.Forget(t.Context(), time.Now().Add(time.Minute)); err != nil || n < 6 {
		t.Fatalf("Forget() = %d, %v; want 6 or more", n, err)
	}
	for _, id := range []string{steps, result} {
		if s := wait(t, e, id); s.State != Done {
			t.Errorf("status = %+v, want done", s)
		}
	}
	empty := newState(t)
	empty.maxPages = 20
	if _, err := Open(t.Context(), empty); !errors.Is(err, store.ErrFull) {
		t.Errorf("Open() without room for the tables = %v, want %v", err, store.ErrFull)
	}
}

// TestSilent starts work while the database does not answer, and gives up. When the database answers again, the work does not run, neither
// here nor in another process.
func TestSilent(t *testing.T) {
	eachState(t, func(t *testing.T, o Options) {
		kinds := map[string]Func{"job": func(w *Work, _ json.RawMessage) (json.RawMessage, error) {
			t.Errorf("%s runs", w.ID)
			return nil, nil
		}}
		e, other := open(t, o, kinds), open(t, o, kinds)
		for _, each := range []*Engine{e, other} {
			if err := each.AddQueue(t.Context(), Queue{Name: "jobs", Concurrency: 1, Each: true, Bound: 5}); err != nil {
				t.Fatal(err)
			}
		}
		db := other.database()
		silence, err := db.Pool().BeginTx(t.Context(), internals.TxOptions{})
		if err == nil && !isFile(o.State) {
			_, err = silence.Exec(t.Context(), "LOCK TABLE "+db.Dialect().SchemaPrefix(db.Schema())+"workflow_status")
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []Start{{ID: "here"}, {ID: "queued", Queue: "jobs"}} {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			if _, err := e.Start(ctx, "job", nil, s); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Start(%+v) = %v, want the end of the time", s, err)
			}
			cancel()
		}
		if err := silence.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		until(t, func() bool {
			e.mu.Lock()
			defer e.mu.Unlock()
			return len(e.dropped) == 0
		})
		list, err := other.List(t.Context(), Filter{})
		for _, s := range list {
			if !s.State.Ended() {
				t.Errorf("%+v, want it ended", s)
			}
		}
		if err != nil || len(list) == 0 {
			t.Errorf("%d works, %v; want the one that the database has got", len(list), err)
		}
	})
}
