package durable

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
)

// TestAlive has two engines whose leases are renewed often: none runs the work of the other.
func TestAlive(t *testing.T) {
	eachState(t, func(t *testing.T, o Options) {
		o.Lease = 600 * time.Millisecond
		var mu sync.Mutex
		runs := map[string]int{}
		finish := make(chan bool)
		kinds := map[string]Func{"long": func(w *Work, _ json.RawMessage) (json.RawMessage, error) {
			mu.Lock()
			runs[w.ID]++
			mu.Unlock()
			_, err := Step(w, "long", func(context.Context) (int, error) { <-finish; return 0, nil })
			return nil, err
		}}
		a, b := open(t, o, kinds), open(t, o, kinds)
		ids := []string{start(t, a, "long", nil), start(t, b, "long", nil)}
		for range 20 { // of many rounds in which dead executors are looked for
			for _, e := range []*Engine{a, b} {
				if dead, err := e.dead(t.Context()); err != nil || len(dead) != 0 {
					t.Errorf("dead() = %v, %v, want none", dead, err)
				}
				if err := e.keepAlive(t.Context()); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(50 * time.Millisecond)
		}
		// Nor if it has seen leases that were renewed meanwhile.
		late := o
		late.Store = expired{o.Store}
		if err := open(t, late, kinds).takeOver(t.Context()); err != nil {
			t.Error(err)
		}
		close(finish)
		for _, id := range ids {
			if s := wait(t, a, id); s.State != Done || runs[id] != 1 {
				t.Errorf("status = %+v after %d runs, want one", s, runs[id])
			}
		}
	})
}

// expired is a Store that lists leases as they will be later.
type expired struct{ Store }

func (s expired) Leases(ctx context.Context, prefix string) ([]store.Lease, error) {
	leases, err := s.Store.Leases(ctx, prefix)
	for i := range leases {
		leases[i].Expired = true
	}
	return leases, err
}

// unreachable is a Store whose leases cannot be renewed while it is cut.
type unreachable struct {
	Store
	cut atomic.Bool
}

func (u *unreachable) Lease(ctx context.Context, name, owner string, lasts time.Duration) (bool, error) {
	if u.cut.Load() {
		return false, errors.New("cut off")
	}
	return u.Store.Lease(ctx, name, owner, lasts)
}

// TestLost cuts an executor off from its lease, until another has taken its work over. It makes no call after that, also when it has a
// lease again.
func TestLost(t *testing.T) {
	eachState(t, func(t *testing.T, o Options) {
		o.Lease = 400 * time.Millisecond
		begun, goOn, ended := make(chan bool), make(chan bool), make(chan error, 1)
		calling, answer := make(chan bool, 2), make(chan bool)
		cut := &unreachable{Store: o.Store}
		first := o
		first.Store = cut
		var once sync.Once
		var calls atomic.Int32
		call := func(w *Work) error {
			// One that could be repeated; the library refuses only its result.
			_, err := Call(w, "send", true, func(context.Context) (int, error) {
				calls.Add(1)
				calling <- true
				<-answer
				return 0, nil
			})
			return err
		}
		a := open(t, first, map[string]Func{"work": func(w *Work, _ json.RawMessage) (_ json.RawMessage, err error) {
			once.Do(func() {
				begun <- true
				<-goOn
				err = call(w)
				ended <- err
			})
			return nil, err
		}})
		id := start(t, a, "work", nil)
		<-begun
		cut.cut.Store(true)
		b := open(t, o, map[string]Func{"work": func(w *Work, _ json.RawMessage) (json.RawMessage, error) { return nil, call(w) }})
		<-calling // in b
		close(goOn)
		select {
		case err := <-ended:
			t.Errorf("it went on without a lease: %v", err)
		case <-time.After(50 * time.Millisecond): // it waits
		}
		cut.cut.Store(false)
		if err := <-ended; !errors.Is(err, ErrTakenOver) {
			t.Errorf("Call() = %v, want %v", err, ErrTakenOver)
		}
		close(answer)
		if s := wait(t, b, id); s.State != Done || calls.Load() != 1 {
			t.Errorf("status = %+v after %d calls, want one", s, calls.Load())
		}
		// It is an executor like others again.
		if s := wait(t, b, start(t, a, "work", nil)); s.State != Done {
			t.Errorf("status = %+v", s)
		}
	})
}

// TestPause cuts an executor off from its lease while nobody else is there, as when a machine sleeps: it goes on with its work.
func TestPause(t *testing.T) {
	o := newState(t)
	cut := &unreachable{Store: o.Store}
	o.Store, o.Lease = cut, 100*time.Millisecond
	begun, goOn := make(chan bool), make(chan bool)
	e := open(t, o, map[string]Func{"work": func(w *Work, _ json.RawMessage) (json.RawMessage, error) {
		begun <- true
		<-goOn
		_, err := Call(w, "send", false, func(context.Context) (int, error) { return 0, nil })
		return nil, err
	}})
	id := start(t, e, "work", nil)
	<-begun
	cut.cut.Store(true)
	until(t, func() bool { _, ok := e.executor.valid(); return !ok })
	cut.cut.Store(false)
	goOn <- true
	if s := wait(t, e, id); s.State != Done {
		t.Errorf("status = %+v, want done", s)
	}
}

// TestStopped stops a process with SIGSTOP at each kind of place until its lease has expired, lets another take its work over, and
// continues it.
func TestStopped(t *testing.T) {
	for _, place := range []string{"between step0", "between call0", "before call1", "after call1", "between again", "after last"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			eachState(t, func(t *testing.T, o Options) {
				w := worker{State: o.State, Log: filepath.Join(t.TempDir(), "log"), Lease: 500 * time.Millisecond}
				client := open(t, o, nil)
				if err := client.AddQueue(t.Context(), Queue{Name: "trips", Concurrency: 1}); err != nil {
					t.Fatal(err)
				}
				id, err := client.Start(t.Context(), "trip", nil, Start{Queue: "trips"})
				if err != nil {
					t.Fatal(err)
				}
				first := worker{State: w.State, Log: w.Log, Lease: w.Lease}
				first.Stop = place
				stopped := first.start(t)
				until(t, func() bool { text, _ := os.ReadFile(w.Log); return strings.Contains(string(text), "reached it") })
				stopped.stop(t, o)
				other := w.start(t)
				if s := wait(t, client, id); s.State != Done {
					t.Errorf("status = %+v, want done", s)
				}
				stopped.Process.Signal(syscall.SIGCONT)
				io.WriteString(stopped.stdin, "go on\n")
				// Both end by themselves: nothing is in progress.
				for _, p := range []*process{stopped, other} {
					time.Sleep(100 * time.Millisecond) // in which a process could do what it must not
					p.stdin.Close()
					if err := p.Wait(); err != nil {
						t.Errorf("worker: %v\n%s", err, &p.stderr)
					}
				}
				unknown := judge(t, client, w.Log, []string{id})
				if want := map[bool]int{true: 1}[strings.HasSuffix(place, "call1") || place == "after last"]; unknown != want {
					t.Errorf("%d calls are unknown, want %d", unknown, want)
				}
				// The one that was stopped did nothing more but the effect before which it was stopped.
				text, err := os.ReadFile(w.Log)
				if err != nil {
					t.Fatal(err)
				}
				taken := max(0, strings.Index(string(text), fmt.Sprintf(" %d ", other.Process.Pid)))
				late := strings.Count(string(text[taken:]), fmt.Sprintf(" %d did ", stopped.Process.Pid))
				if want := map[bool]int{true: 1}[place == "before call1"]; late != want {
					t.Errorf("the stopped process had %d effects after it was continued, want %d:\n%s", late, want, text)
				}
			})
		})
	}
}

// stop stops a process with SIGSTOP at a moment in which it does not write to an SQLite file: nobody else could until it goes on.
func (p *process) stop(t *testing.T, o Options) {
	t.Helper()
	until(t, func() bool {
		p.Process.Signal(syscall.SIGSTOP)
		until(t, func() bool { return processState(t, p.Process.Pid) == "T" })
		if isFile(o.State) && locked(t, o.State) {
			p.Process.Signal(syscall.SIGCONT)
			return false
		}
		return true
	})
}

// locked reports whether somebody writes to an SQLite file.
func locked(t *testing.T, file string) bool {
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err == nil {
		tx.Rollback()
	}
	return err != nil
}

// processState returns the letter of a process's state.
func processState(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return rest[:1]
}
