package traffic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/gen/learn"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

func observation(tool, reply string) *learn.Observation {
	return &learn.Observation{Tool: learn.Tool{Server: "s", Name: tool}, Digest: "d", Reply: learn.Reply{Value: json.RawMessage(reply)}}
}

// openState opens the state in a file, which the test closes.
func openState(t *testing.T, path string) (store.Store, store.Opener) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, func(context.Context) (store.Store, error) { return s, nil }
}

// schemas returns what a process that begins now finds.
func schemas(t *testing.T, state store.Opener) map[string]string {
	t.Helper()
	kept, err := New(Options{State: state}).Shapes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, p := range kept.Proposals() {
		schema, err := p.Schema(nil)
		if err != nil {
			t.Fatal(err)
		}
		out[p.Tool.Name] = string(schema)
	}
	return out
}

// The state contains what several processes have seen, and a name that each of them has seen once is known.
func TestStoresShareAState(t *testing.T) {
	_, state := openState(t, filepath.Join(t.TempDir(), "state.db"))
	for i := range 3 {
		s := New(Options{State: state})
		if err := errors.Join(s.Observe(observation("get", `{"id":1,"name":"x","owner":1}`)), s.Observe(observation(fmt.Sprintf("own%d", i), `"x"`)), s.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	got := schemas(t, state)
	if len(got) != 4 || !strings.Contains(got["get"], "owner") {
		t.Errorf(`got %v, want len(got) 4 and "owner" in it`, got)
	}
}

// Two processes see replies of the same tool at the same time, each with a member of its own.
func TestStoresMerge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	mergeTwo(t, func() store.Opener {
		_, state := openState(t, path)
		return state
	})
}

// mergeTwo lets two processes learn, each with its own connection to one state.
func mergeTwo(t *testing.T, open func() store.Opener) {
	var both [2]*Store
	var state store.Opener
	for i := range both {
		state = open()
		both[i] = New(Options{State: state})
	}
	for range 3 {
		for i, s := range both {
			for range 3 {
				if err := s.Observe(observation("get", fmt.Sprintf(`{"id":1,%q:true}`, []string{"name", "owner"}[i]))); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, s := range both {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := schemas(t, state)["get"]; !strings.Contains(got, "name") || !strings.Contains(got, "owner") || !strings.Contains(got, `"required":["id"]`) {
		t.Errorf("got %s, want both members, and that only id is required", got)
	}
}

func TestStoresWriteAtTheSameTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	_, state := openState(t, path)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			s := New(Options{State: state})
			if err := errors.Join(s.Observe(observation(fmt.Sprintf("t%d", i), `"x"`)), s.Observe(observation("same", `"x"`)), s.Flush()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := schemas(t, state); len(got) != 9 {
		t.Errorf("%d tools are kept, want 9", len(got))
	}
}

// A second write soon after the first is made later, in the background.
func TestFlushIsNotTooOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, state := openState(t, filepath.Join(t.TempDir(), "state.db"))
		s := New(Options{State: state})
		if err := errors.Join(s.Observe(observation("a", `"x"`)), s.Flush(), s.Observe(observation("b", `"x"`)), s.Flush()); err != nil {
			t.Fatal(err)
		}
		if got := schemas(t, state); len(got) != 1 {
			t.Errorf("%v are kept, want one tool before the pause is over", got)
		}
		time.Sleep(pause + time.Millisecond)
		synctest.Wait()
		if got := schemas(t, state); len(got) != 2 {
			t.Errorf("%v are kept, want two tools after the pause", got)
		}
	})
}

func TestAStoreThatCannotBeUsed(t *testing.T) {
	at, state := openState(t, filepath.Join(t.TempDir(), "state.db"))
	if err := New(Options{State: state}).Observe(observation("a", `"x"`)); err != nil {
		t.Fatal(err)
	}
	key := keyOf(learn.Tool{Server: "s", Name: "a"})
	version := int64(0)
	texts := []string{"{"}
	for _, shape := range []string{`null`, `{"m":[{"k":"a","v":null}]}`, `{"p":{"x":null}}`, `{"i":{"r":{"p":{"x":{"v":null}}}}}`} {
		texts = append(texts, fmt.Sprintf(`{"version":%d,"key":"AAAA","tools":[{"server":"s","tool":"a","digest":"d","shape":%s}]}`, learn.TrafficVersion, shape))
	}
	for _, text := range texts {
		var err error
		if version, err = at.SetDocument(t.Context(), &store.Document{Key: key, Value: []byte(text), Version: version}); err != nil {
			t.Fatal(err)
		}
		if err := New(Options{State: state}).Observe(observation("a", `{"a":1}`)); err == nil || !strings.Contains(err.Error(), key.Name) || !strings.Contains(err.Error(), "delete it") {
			t.Errorf(`of %s: %v, want an error that names the document, and "delete it" in it`, text, err)
		}
	}
	if err := at.DeleteDocument(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	panics := observation("a", `{"id":1}`)
	panics.Words = func() map[string]bool { panic("no words") }
	if err := New(Options{State: state}).Observe(panics); err == nil || !strings.Contains(err.Error(), "no words") {
		t.Errorf(`of a panic: %v, want an error and "no words" in it`, err)
	}
}

// While the state cannot be opened, calls do not wait for it each time. Nothing of what was seen is lost if it cannot be written.
func TestAStateThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at, _ := openState(t, filepath.Join(t.TempDir(), "state.db"))
		away, opened := errors.New("the database cannot be reached"), 0
		s := New(Options{State: func(context.Context) (store.Store, error) { opened++; return at, away }})
		for range 3 {
			if err := s.Observe(observation("a", `"x"`)); !errors.Is(err, away) {
				t.Errorf("Observe() = %v, want %v", err, away)
			}
		}
		if opened != 1 {
			t.Errorf("the state was opened %d times within a moment, want 1", opened)
		}
		time.Sleep(retryTime)
		away = nil
		if err := s.Observe(observation("a", `"x"`)); err != nil {
			t.Errorf("Observe() later = %v", err)
		}
		away = errors.New("it is away again")
		if err := s.Flush(); !errors.Is(err, away) {
			t.Errorf("Flush() = %v, want %v", err, away)
		}
		if err := s.Flush(); err != nil {
			t.Errorf("Flush() of another run = %v, want it to wait until later", err)
		}
		away = nil
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if got := schemas(t, s.opt.State); len(got) != 1 {
			t.Errorf("%v are kept, want what was seen before", got)
		}
	})
}

// What a person has removed is not written again by a process that is still running.
func TestWhatIsForgotten(t *testing.T) {
	_, state := openState(t, filepath.Join(t.TempDir(), "state.db"))
	forget := func(tool string) {
		t.Helper()
		if err := New(Options{State: state}).Forget(t.Context(), learn.Tool{Server: "s", Name: tool}); err != nil {
			t.Errorf("Forget(%s) = %v", tool, err)
		}
	}
	forget("a") // which is not there
	s, other := New(Options{State: state}), New(Options{State: state})
	keep := func(s *Store, tools ...string) {
		t.Helper()
		for _, tool := range tools {
			if err := s.Observe(observation(tool, `"x"`)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	keep(s, "a", "b")
	forget("a")
	if got := schemas(t, state); len(got) != 1 || got["b"] == "" {
		t.Errorf("after Forget: %v", got)
	}
	keep(s, "a", "c")
	if got := schemas(t, state); len(got) != 2 || got["a"] != "" {
		t.Errorf(`after Forget and further results: %v, want len(got) 2 and ""`, got)
	}
	keep(s, "b")
	keep(s, "b")
	forget("b")
	keep(other, "b") // as new
	if err := s.Observe(&learn.Observation{Tool: learn.Tool{Server: "s", Name: "b"}, Digest: "d", Reply: learn.Reply{Value: json.RawMessage(`1`)}}); err != nil {
		t.Fatal(err)
	}
	keep(s)
	if got := schemas(t, state)["b"]; got != `{"type":"string"}` {
		t.Errorf("after Forget and a result in another process: %s, want only what that has seen", got)
	}
}

// Close writes what Flush has postponed.
func TestClose(t *testing.T) {
	_, state := openState(t, filepath.Join(t.TempDir(), "state.db"))
	s := New(Options{State: state})
	if err := errors.Join(s.Observe(observation("a", `"x"`)), s.Flush(), s.Observe(observation("b", `"x"`)), s.Flush(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if got := schemas(t, state); len(got) != 2 {
		t.Errorf("%v, want len(got) 2", got)
	}
}

// The file of an earlier version is merged into the state, by two processes at the same time, and again after a crash.
func TestOldShapes(t *testing.T) {
	dir := t.TempDir()
	at, state := openState(t, filepath.Join(dir, "state.db"))
	old := filepath.Join(dir, "shapes.json")
	before := learn.NewTraffic()
	if err := errors.Join(before.Observe(observation("get", `{"id":1,"owner":1}`)), before.Observe(observation("put", `"x"`))); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, text, 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var said []string
	moved := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, line)
	}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if _, err := New(Options{State: state, Old: old, Moved: moved}).Shapes(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(said) != 1 || !strings.Contains(said[0], old) || !strings.Contains(said[0], at.Place()) {
		t.Errorf("said %q, want a line with both places", said)
	}
	s := New(Options{State: state, Old: old})
	if err := errors.Join(s.Observe(observation("get", `{"id":1,"owner":1}`)), s.Close()); err != nil {
		t.Fatal(err)
	}
	got := schemas(t, state)
	if len(got) != 2 || !strings.Contains(got["get"], "owner") {
		t.Errorf("%v, want both tools, and a name that was seen once before and once now", got)
	}
	if err := os.Rename(old+".moved", old); err != nil {
		t.Fatal(err)
	}
	again, err := New(Options{State: state, Old: old, Moved: moved}).Shapes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	replies := map[string]int{}
	for _, p := range again.Proposals() {
		replies[p.Tool.Name] = p.Replies
	}
	if replies["get"] != 2 || replies["put"] != 1 || len(said) != 2 {
		t.Errorf("after a second move there are %v replies, said %q, want those that there were", replies, said)
	}
	if err := os.WriteFile(old, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{State: state, Old: old}).Shapes(t.Context()); err == nil || !slices.Contains(strings.Fields(err.Error()), old) {
		t.Errorf("of a damaged file: %v, want an error that names it", err)
	}
}
