package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
)

// open opens an engine, and launches it with the kinds.
func open(t testing.TB, o Options, kinds map[string]Func) *Engine {
	t.Helper()
	if testing.Verbose() {
		o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	e, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	for name, fn := range kinds {
		e.Register(name, fn)
	}
	if kinds != nil {
		if err := e.Launch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// start starts work without options.
func start(t testing.TB, e *Engine, kind string, input any) string {
	t.Helper()
	raw, _ := json.Marshal(input)
	id, err := e.Start(t.Context(), kind, raw, Start{})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// wait waits until work has ended.
func wait(t testing.TB, e *Engine, id string) *Status {
	t.Helper()
	return waitFor(t, e, id, 30*time.Second)
}

func waitFor(t testing.TB, e *Engine, id string, most time.Duration) *Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	s, err := e.Wait(ctx, id)
	if err != nil {
		t.Fatalf("Wait(%s) = %v, last status %+v", id, err, s)
	}
	return s
}

func TestStates(t *testing.T) {
	e := open(t, newState(t), map[string]Func{
		"double": func(w *Work, input json.RawMessage) (json.RawMessage, error) {
			n, err := Step(w, "double", func(context.Context) (int, error) {
				var n int
				err := json.Unmarshal(input, &n)
				return 2 * n, err
			})
			if err != nil {
				return nil, err
			}
			return json.Marshal(n)
		},
		"fail": func(w *Work, _ json.RawMessage) (json.RawMessage, error) {
			_, err := Call(w, "send", false, func(context.Context) (int, error) { return 0, errors.New("refused") })
			return nil, err
		},
		"no JSON": func(w *Work, _ json.RawMessage) (json.RawMessage, error) { return json.RawMessage("{"), nil },
		"panic":   func(w *Work, _ json.RawMessage) (json.RawMessage, error) { panic("hello") },
		"slow": func(w *Work, _ json.RawMessage) (json.RawMessage, error) {
			_, err := Step(w, "block", func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() })
			return nil, err
		},
	})
	if s := wait(t, e, start(t, e, "double", 21)); s.State != Done || string(s.Result) != "42" || s.Kind != "double" {
		t.Errorf("status = %+v, want 42", s)
	}
	if s := wait(t, e, start(t, e, "double", "x")); s.State != Failed {
		t.Errorf("status = %+v, want failed", s)
	}
	if s := wait(t, e, start(t, e, "fail", nil)); s.State != Failed || s.Error != "refused" {
		t.Errorf("status = %+v, want refused", s)
	}
	if s := wait(t, e, start(t, e, "no JSON", nil)); s.State != Failed || s.Error != "the result of no JSON is no JSON" {
		t.Errorf("status = %+v, want failed", s)
	}
	if s := wait(t, e, start(t, e, "panic", nil)); s.State != Failed {
		t.Errorf("status = %+v, want failed", s)
	}
	id, err := e.Start(t.Context(), "slow", nil, Start{ID: "mine", Customer: "acme", Timeout: time.Hour})
	if err != nil || id != "mine" {
		t.Fatalf("Start() = %s, %v", id, err)
	}
	if _, err := e.Start(t.Context(), "slow", nil, Start{ID: "mine"}); !errors.Is(err, ErrExists) {
		t.Errorf("Start() again = %v, want %v", err, ErrExists)
	}
	if s, err := e.Get(t.Context(), id); err != nil || s.State != Running || s.Customer != "acme" {
		t.Errorf("Get() = %+v, %v, want running", s, err)
	}
	if list, err := e.List(t.Context(), Filter{Customer: "acme", Open: true}); err != nil || len(list) != 1 || list[0].ID != "mine" {
		t.Errorf("List() = %+v, %v", list, err)
	}
	if err := e.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if s := wait(t, e, id); s.State != Cancelled {
		t.Errorf("status = %+v, want cancelled", s)
	}
	id, err = e.Start(t.Context(), "slow", nil, Start{Timeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if s := wait(t, e, id); s.State != Failed || s.Error != "it took longer than it may" {
		t.Errorf("status = %+v, want a timeout", s)
	}
	if _, err := e.Get(t.Context(), "nothing"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get() = %v, want %v", err, store.ErrNotFound)
	}
	if err := e.Cancel(t.Context(), "nothing"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Cancel() = %v, want %v", err, store.ErrNotFound)
	}
	if err := e.Send(t.Context(), "mine", "x", 1); !errors.Is(err, ErrEnded) {
		t.Errorf("Send() = %v, want %v", err, ErrEnded)
	}
	if n, err := e.Forget(t.Context(), time.Now().Add(time.Minute)); err != nil || n != 7 {
		t.Errorf("Forget() = %d, %v, want 7", n, err)
	}
	if list, err := e.List(t.Context(), Filter{}); err != nil || len(list) != 0 {
		t.Errorf("List() = %+v, %v, want none", list, err)
	}
}

// approval waits for a person.
func approval(w *Work, _ json.RawMessage) (json.RawMessage, error) {
	answer, err := Receive[string](w, "answer", 0)
	if err != nil {
		return nil, err
	}
	return json.Marshal("it was " + answer)
}

func TestReceive(t *testing.T) {
	o := newState(t)
	e := open(t, o, map[string]Func{"approval": approval})
	id := start(t, e, "approval", nil)
	until(t, func() bool {
		s, err := e.Get(t.Context(), id)
		return err == nil && s.State == Waiting && s.Waiting == "answer"
	})
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A client sees it, and answers while nobody runs it.
	client := open(t, o, nil)
	if s, err := client.Get(t.Context(), id); err != nil || s.State != Waiting {
		t.Errorf("Get() = %+v, %v, want waiting", s, err)
	}
	if err := client.Send(t.Context(), id, "answer", "yes"); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Start(t.Context(), "approval", nil, Start{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Start() = %v, want %v", err, ErrClosed)
	}
	open(t, o, map[string]Func{"approval": approval})
	if s := wait(t, client, id); string(s.Result) != `"it was yes"` || s.Waiting != "" {
		t.Errorf("status = %+v, want the answer", s)
	}
}

// TestSendOnce sends two values with a key, and one without: the second one with the key is refused, in both databases.
func TestSendOnce(t *testing.T) {
	eachState(t, func(t *testing.T, state Options) {
		e := open(t, state, map[string]Func{"two": func(w *Work, _ json.RawMessage) (json.RawMessage, error) {
			first, err := Receive[string](w, "go", 0)
			if err != nil {
				return nil, err
			}
			second, err := Receive[string](w, "go", 0)
			return json.RawMessage(fmt.Sprintf("%q", first+second)), err
		}})
		id := start(t, e, "two", nil)
		if err := e.SendOnce(t.Context(), id, "go", "key", "a"); err != nil {
			t.Fatal(err)
		}
		if err := e.SendOnce(t.Context(), id, "go", "key", "b"); !errors.Is(err, ErrExists) {
			t.Errorf("a second SendOnce() = %v, want ErrExists", err)
		}
		if err := e.Send(t.Context(), id, "go", "c"); err != nil {
			t.Fatal(err)
		}
		if s := wait(t, e, id); string(s.Result) != `"ac"` {
			t.Errorf("it received %s, want ac", s.Result)
		}
	})
}

func TestReceiveTimeout(t *testing.T) {
	e := open(t, newState(t), map[string]Func{"ask": func(w *Work, _ json.RawMessage) (json.RawMessage, error) {
		if err := w.Sleep(10 * time.Millisecond); err != nil {
			return nil, err
		}
		_, err := Receive[string](w, "answer", 50*time.Millisecond)
		return json.Marshal(errors.Is(err, ErrTimeout))
	}})
	if s := wait(t, e, start(t, e, "ask", nil)); string(s.Result) != "true" {
		t.Errorf("status = %+v, want a timeout", s)
	}
}

func TestCancelReceive(t *testing.T) {
	o := newState(t)
	ended := make(chan error, 1)
	e := open(t, o, map[string]Func{"ask": func(w *Work, _ json.RawMessage) (json.RawMessage, error) {
		_, err := Receive[string](w, "answer", 0)
		ended <- err
		return nil, err
	}})
	id := start(t, e, "ask", nil)
	until(t, func() bool { s, err := e.Get(t.Context(), id); return err == nil && s.State == Waiting })
	if err := open(t, o, nil).Cancel(t.Context(), id); err != nil { // by another engine
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, ErrCancelled) {
		t.Errorf("Receive() = %v, want %v", err, ErrCancelled)
	}
	if s := wait(t, e, id); s.State != Cancelled {
		t.Errorf("status = %+v, want cancelled", s)
	}
}

func TestEvents(t *testing.T) {
	o := newState(t)
	e := open(t, o, map[string]Func{"talk": func(w *Work, _ json.RawMessage) (json.RawMessage, error) {
		if err := w.Emit(w.Context(), "begin"); err != nil {
			return nil, err
		}
		_, err := Call(w, "count", false, func(ctx context.Context) (int, error) {
			derived, cancel := context.WithCancel(ctx)
			defer cancel()
			for i := range 3 {
				if err := w.Emit(derived, i); err != nil {
					return 0, err
				}
			}
			return 0, nil
		})
		return nil, err
	}})
	id := start(t, e, "talk", nil)
	for _, reader := range []*Engine{e, open(t, o, nil)} {
		var got []string
		err := reader.Events(t.Context(), id, 1, func(n int, event json.RawMessage) error {
			got = append(got, fmt.Sprint(n, string(event)))
			return nil
		})
		if want := []string{"10", "21", "32"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("Events() = %v, %v, want %v", got, err, want)
		}
	}
	if s := wait(t, e, id); s.State != Done {
		t.Errorf("status = %+v", s)
	}
}

// TestClose closes an engine while two calls are in progress: the calls end, no other begins, the work goes on in the next engine.
func TestClose(t *testing.T) {
	o := newState(t)
	var calls, later atomic.Int32
	begun, finish, ended := make(chan bool), make(chan bool), make(chan bool, 10)
	work := func(w *Work, _ json.RawMessage) (json.RawMessage, error) {
		_, err := Call(w, "send", false, func(context.Context) (int, error) {
			calls.Add(1)
			begun <- true
			<-finish
			return 0, nil
		})
		if err != nil {
			return nil, err
		}
		ended <- true
		_, err = Call(w, "later", true, func(context.Context) (int, error) { later.Add(1); return 0, nil })
		return nil, err
	}
	e := open(t, o, map[string]Func{"work": work})
	ids := []string{start(t, e, "work", nil), start(t, e, "work", nil)}
	<-begun
	<-begun
	closed := make(chan error)
	go func() { closed <- e.Close(t.Context()) }()
	until(t, func() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.closing })
	if _, err := e.Start(t.Context(), "work", nil, Start{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Start() = %v, want %v", err, ErrClosed)
	}
	finish <- true
	<-ended // one; the other keeps the engine open
	time.Sleep(50 * time.Millisecond)
	if later.Load() != 0 {
		t.Error("a closing engine began a step")
	}
	finish <- true
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	next := open(t, o, map[string]Func{"work": work})
	for _, id := range ids {
		if s := wait(t, next, id); s.State != Done {
			t.Errorf("status = %+v, want done", s)
		}
	}
	if calls.Load() != 2 || later.Load() != 2 {
		t.Errorf("%d and %d calls were made, want two each", calls.Load(), later.Load())
	}
}

// TestEnvironment refuses the variables with which the library lets others decide whose work continues.
func TestEnvironment(t *testing.T) {
	o := newState(t)
	for _, name := range []string{"DBOS__VMID", "DBOS__APPVERSION"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "x")
			if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("Open() = %v, want an error with the variable", err)
			}
		})
	}
	o.State = filepath.Join(t.TempDir(), "missing.db")
	if _, err := Open(t.Context(), o); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open() without a file = %v, want %v", err, fs.ErrNotExist)
	}
	o.State = "postgres://me:secret@host:port/x"
	if _, err := Open(t.Context(), o); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("Open() of a wrong address = %v, want an error without the password", err)
	}
}

// until waits until something is so.
func until(t testing.TB, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen within 20 s")
		}
	}
}
