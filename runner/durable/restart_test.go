package durable

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

// TestRestart restarts Postgres while work is in progress: it waits, and goes on.
func TestRestart(t *testing.T) {
	o := stateAt(t, pgtest.Database(t))
	var mu sync.Mutex
	calls := map[string]int{}
	half := make(chan bool)
	e := open(t, o, map[string]Func{"count": func(w *Work, _ json.RawMessage) (json.RawMessage, error) {
		for i := range 40 {
			_, err := Call(w, fmt.Sprint("call", i), false, func(context.Context) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				calls[fmt.Sprint(w.ID, i)]++
				if len(calls) == 50 {
					close(half)
				}
				return i, nil
			})
			if err != nil {
				return nil, err
			}
		}
		return json.Marshal("all")
	}})
	var ids []string
	for range 5 {
		ids = append(ids, start(t, e, "count", nil))
	}
	<-half
	began := time.Now()
	pgtest.Restart(t)
	t.Logf("restarted in %v", time.Since(began))
	ids = append(ids, start(t, e, "count", nil))
	for _, id := range ids {
		if s := wait(t, e, id); s.State != Done {
			t.Errorf("status = %+v, want done", s)
		}
	}
	t.Logf("done after %v", time.Since(began))
	if len(calls) != 40*len(ids) {
		t.Errorf("%d different calls were made, want %d", len(calls), 40*len(ids))
	}
	for call, n := range calls {
		if n > 1 {
			t.Errorf("%s was made %d times", call, n)
		}
	}
}
