package policy

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/postgres"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// openState returns what opens the state at a path or a URL. The test closes it.
func openState(t testing.TB, place string) store.Opener {
	open := sync.OnceValues(func() (s store.Store, err error) {
		if strings.Contains(place, "://") {
			s, err = postgres.Open(context.Background(), place)
		} else {
			s, err = sqlite.Open(context.Background(), place, sqlite.Options{})
		}
		if err == nil {
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		return s, err
	})
	return func(context.Context) (store.Store, error) { return open() }
}

// TestLastingCounts makes calls like successive processes: each with a policy of its own, with one state.
func TestLastingCounts(t *testing.T) {
	const text = `rules:
- {name: two a session, deny: "crm__*", over: {session: 2}}
- {name: three a customer, ask: "bank__*", over: {customer: 3}}
- {deny: "mail__*", hint: writes, over: {day: 2}}
`
	ann, bob := Subject{Customer: "ann", Session: "../../s1"}, Subject{Customer: "../bob"}
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "state.db")
		state := openState(t, path)
		call := func(text string, subject Subject, tool string) string {
			return decided(parse(t, text, NewRates().In(Counts{State: state})), of(&Run{Subject: subject}, tool, `{}`, Hints{}))
		}
		calls := func(text string, subject Subject, tool string, want ...string) {
			t.Helper()
			for i, want := range want {
				if got := call(text, subject, tool); got != want {
					t.Errorf("call %d of %s for %+v: %q, want %q", i+1, tool, subject, got, want)
				}
			}
		}
		calls(text, ann, "crm__put", "allow", "allow", "deny two a session", "deny two a session")
		calls(text, Subject{Customer: "ann", Session: "s2"}, "crm__put", "allow")
		calls(text, Subject{Customer: "ann"}, "crm__put", "allow", "allow", "allow") // each of these runs is a session
		calls(text, ann, "bank__pay", "allow", "allow")
		calls(text, Subject{Customer: "ann", Session: "s2"}, "bank__pay", "allow", "ask three a customer", "ask three a customer")
		calls(text, bob, "bank__pay", "allow")
		calls(text, Subject{}, "bank__pay", "allow", "allow", "allow", "ask three a customer")
		calls(text, ann, "mail__send", "allow", "allow", "deny deny mail__*")
		calls(text, bob, "mail__send", "allow")

		moved := "rules:\n- {deny: \"mail__*\", hint: writes, over: {day: 3}}\n- {name: three a customer, ask: \"bank__p*\", over: {customer: 3}}\n"
		calls(moved, ann, "mail__send", "allow", "deny deny mail__*") // the third of the day
		calls(moved, ann, "bank__pay", "ask three a customer")
		time.Sleep(24 * time.Hour)
		calls(text, ann, "mail__send", "allow", "allow", "deny deny mail__*")
		calls(text, ann, "bank__pay", "ask three a customer")

		own := "rules: [{name: of all, ask: bank__pay, over: {customer: 2}}]\ncustomers: {ann: {rules: [{name: of all, deny: bank__pay, over: {customer: 4}}]}}\n"
		calls(own, ann, "bank__pay", "allow", "allow", "ask of all", "ask of all", "deny of all")
		numbers := func() int {
			t.Helper()
			s, err := state(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			all, err := s.ListDocuments(t.Context(), "ann", tallyKind)
			if err != nil {
				t.Fatal(err)
			}
			return len(all)
		}
		before := numbers()
		time.Sleep(tallyTime + time.Second)
		calls(text, Subject{Customer: "ann", Session: "s3"}, "crm__put", "allow")
		if after := numbers(); before != 6 || after != 4 { // three of the customer stay; those of two sessions and a day go, and that of a session comes
			t.Errorf("%d numbers are kept, and %d after a long time, want 6 and 4", before, after)
		}
	})
}

const countsVariable = "MCPGEN_TEST_COUNTS"

// TestCountsOfSeveralProcesses lets several processes make calls at the same time.
func TestCountsOfSeveralProcesses(t *testing.T) {
	if place := os.Getenv(countsVariable); place != "" {
		countInChild(t, place)
		return
	}
	countTogether(t, filepath.Join(t.TempDir(), "state.db"))
}

// countTogether starts processes that make more calls than a rule allows, with the state at a place.
func countTogether(t *testing.T, place string) {
	var wait sync.WaitGroup
	var allowed atomic.Int32
	for range 4 {
		wait.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run", "^TestCountsOfSeveralProcesses$")
			cmd.Env = append(os.Environ(), countsVariable+"="+place)
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Count(string(out), "decided:") != 20 {
				t.Errorf("%v, want 20 and no error\n%s", err, out)
			}
			allowed.Add(int32(strings.Count(string(out), "decided: allow")))
		})
	}
	wait.Wait()
	if allowed.Load() != 50 {
		t.Errorf("%d of 80 calls in 4 processes were allowed, want 50", allowed.Load())
	}
}

func countInChild(t *testing.T, place string) {
	state := openState(t, place)
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() { // each as in a process of its own
			p := parse(t, "rules: [{deny: \"*\", over: {day: 50, session: 30}}]\n", NewRates().In(Counts{State: state}))
			subject := Subject{Session: "s"}
			if i%2 == 0 {
				subject.Session = "another"
			}
			fmt.Println("decided:", decided(p, of(&Run{Subject: subject}, "crm__put", `{}`, Hints{})))
		})
	}
	wait.Wait()
}

const dayRule = "rules: [{name: a day, ask: \"*\", over: {day: 5}}, {name: much, allow: \"*\"}]\n"

func TestCountsThatCannotBeKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	state := openState(t, path)
	p := parse(t, dayRule, NewRates().In(Counts{State: state}))
	decide := func(ctx context.Context, unsent bool) Decision {
		req := of(&Run{}, "crm__put", `{}`, Hints{})
		req.Unsent = unsent
		return p.Decide(ctx, req)
	}
	if d := decide(t.Context(), false); d.Effect != Allow {
		t.Fatal(d)
	}
	s, err := state(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	counted := func() store.Document {
		t.Helper()
		all, err := s.ListDocuments(t.Context(), "", tallyKind)
		if err != nil || len(all) != 1 {
			t.Fatalf("%v, %v, want one number", all, err)
		}
		return all[0]
	}
	good := counted()
	if !strings.Contains(string(good.Value), `"calls":1}`) {
		t.Fatalf("%s, want one call", good.Value)
	}
	put := func(value string) {
		t.Helper()
		if _, err := s.SetDocument(t.Context(), &store.Document{Key: good.Key, Value: []byte(value), Version: counted().Version}); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []string{"", "x", `{"calls": -3}`, `{"calls": "1"}`} {
		put(bad)
		if d := decide(t.Context(), false); d.Effect != Deny || d.Rule != "a day" || !strings.Contains(d.Reason, good.Name) || !strings.Contains(d.Reason, "delete it") {
			t.Errorf("with the value %q: %+v, want a denial that names it", bad, d)
		}
	}
	put(string(good.Value))
	for range 3 { // each in a run of its own
		if d := decide(t.Context(), true); d.Effect != Allow {
			t.Errorf("a call of a dry run: %+v, want Effect %v", d, Allow)
		}
	}
	if now := counted(); string(now.Value) != string(good.Value) {
		t.Errorf("after dry runs the number is %s, want %s", now.Value, good.Value)
	}
	run, got := &Run{}, ""
	for range 5 {
		req := of(run, "crm__put", `{}`, Hints{})
		req.Unsent = true
		got += string(p.Decide(t.Context(), req).Effect) + " "
	}
	if got != "allow allow allow allow ask " {
		t.Errorf(`a dry run after one call: %s, want "allow allow allow allow ask "`, got)
	}

	other, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	if _, err := other.Exec("BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if d := decide(soon, false); d.Effect != Deny || !strings.Contains(d.Reason, "end the process that keeps it busy") {
		t.Errorf("with a state that is locked: %+v, want a denial with a hint", d)
	}
	if _, err := other.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if d := decide(t.Context(), false); d.Effect != Allow {
		t.Errorf("with a state that is free again: %+v, want Effect %v", d, Allow)
	}
}

// faulty is a store that cannot be written.
type faulty struct {
	store.Store
	err error
}

func (f faulty) SetDocuments(context.Context, []store.Document) error { return f.err }

// TestCountsWithoutRoom checks what a call is told whose number cannot be written.
func TestCountsWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := openState(t, filepath.Join(t.TempDir(), "state.db"))(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			err  error
			want string
		}{
			{fmt.Errorf("write count: %w", store.ErrFull), "the calls cannot be counted: write count: no room for the state: make room, or name another database with --state"},
			{store.ErrConflict, "the calls cannot be counted: changed by another process: call again later"},
		} {
			p := parse(t, dayRule, NewRates().In(Counts{State: func(context.Context) (store.Store, error) { return faulty{s, c.err}, nil }}))
			began := time.Now()
			if d := p.Decide(t.Context(), of(&Run{}, "crm__put", `{}`, Hints{})); d.Effect != Deny || d.Rule != "a day" || d.Reason != c.want || time.Since(began) > tallyWait {
				t.Errorf("%+v after %v, want a denial: %s", d, time.Since(began), c.want)
			}
		}
		missing := errors.New("no state: name one")
		p := parse(t, dayRule, NewRates().In(Counts{State: func(context.Context) (store.Store, error) { return nil, missing }}))
		if d := p.Decide(t.Context(), of(&Run{}, "crm__put", `{}`, Hints{})); d.Effect != Deny || !strings.Contains(d.Reason, missing.Error()) {
			t.Errorf("without a state: %+v, want a denial that says so", d)
		}
	})
}

// stuck is a store that does not answer.
type stuck struct{ store.Store }

func (stuck) Document(ctx context.Context, _ store.Key) (*store.Document, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestCountsThatWait makes calls at the same time while the state does not answer. Calls that it does not count go on.
func TestCountsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const text = "rules: [{name: a day, ask: crm__put, over: {day: 5}}, {name: a run, ask: crm__get, over: {run: 5}}]\n"
		p := parse(t, text, NewRates().In(Counts{State: func(context.Context) (store.Store, error) { return stuck{}, nil }}))
		began := time.Now()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				d := p.Decide(t.Context(), of(&Run{}, "crm__put", `{}`, Hints{}))
				if took := time.Since(began); d.Effect != Deny || !strings.Contains(d.Reason, "did not answer in time") || took != tallyWait {
					t.Errorf("%+v after %v, want a denial after %v", d, took, tallyWait)
				}
			})
		}
		time.Sleep(time.Second)
		if d := p.Decide(t.Context(), of(&Run{}, "crm__get", `{}`, Hints{})); d.Effect != Allow || time.Since(began) != time.Second {
			t.Errorf("another call: %+v after %v, want Effect %v at once", d, time.Since(began)-time.Second, Allow)
		}
		all.Wait()
	})
}

// TestOldCounts moves the files of an earlier version, by several at the same time, and again after a crash.
func TestOldCounts(t *testing.T) {
	dir := t.TempDir()
	state := openState(t, filepath.Join(dir, "state.db"))
	old := filepath.Join(dir, "counts")
	if err := os.Mkdir(old, 0o700); err != nil {
		t.Fatal(err)
	}
	call := func(counts Counts) Decision {
		return parse(t, dayRule, NewRates().In(counts)).Decide(t.Context(), of(&Run{}, "crm__put", `{}`, Hints{}))
	}
	if d := call(Counts{State: state}); d.Effect != Allow {
		t.Fatal(d)
	}
	s, err := state(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	numbers, err := s.ListDocuments(t.Context(), "", tallyKind)
	if err != nil || len(numbers) != 1 {
		t.Fatal(numbers, err)
	}
	files := map[string]string{
		numbers[0].Name + ".json":          strings.Replace(string(numbers[0].Value), `"calls":1`, `"calls":3`, 1),
		strings.Repeat("ab", 16) + ".json": `{"rule":"r","of":"session","customer":"ann","session":"s","calls":7}`,
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(old, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var said []string
	counts := Counts{State: state, Old: old, Moved: func(line string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, line)
	}}
	var all sync.WaitGroup
	for range 2 { // the 4th and the 5th
		all.Go(func() {
			if d := call(counts); d.Effect != Allow {
				t.Errorf("a call after 3 in old files: %+v, want Effect %v", d, Allow)
			}
		})
	}
	all.Wait()
	if d := call(counts); d.Effect != Ask {
		t.Errorf("the 6th call: %+v, want Effect %v", d, Ask)
	}
	if len(said) == 0 || !strings.Contains(said[0], old) || !strings.Contains(said[0], s.Place()) {
		t.Errorf("said %q, want a line with both places", said)
	}
	ofAnn, err := s.ListDocuments(t.Context(), "ann", tallyKind)
	if err != nil || len(ofAnn) != 1 || string(ofAnn[0].Value) != files[strings.Repeat("ab", 16)+".json"] {
		t.Errorf("ann has %v, %v, want the number of the old file", ofAnn, err)
	}
	for name := range files { // as after a crash between writing and renaming
		if err := os.Rename(filepath.Join(old, name+".moved"), filepath.Join(old, name)); err != nil {
			t.Error(err)
		}
	}
	before, err := s.ListDocuments(t.Context(), "", tallyKind)
	if err != nil {
		t.Fatal(err)
	}
	if d := call(counts); d.Effect != Ask {
		t.Errorf("a call after a second move: %+v, want Effect %v", d, Ask)
	}
	after, err := s.ListDocuments(t.Context(), "", tallyKind)
	if err != nil || len(after) != 1 || after[0].Version != before[0].Version+1 {
		t.Errorf("the number has gone from %+v to %+v, %v, want one change, by the call", before, after, err)
	}
	if again, err := s.ListDocuments(t.Context(), "ann", tallyKind); err != nil || !slices.EqualFunc(again, ofAnn, func(a, b store.Document) bool { return a.Version == b.Version }) {
		t.Errorf("ann has %v, %v, want %v", again, err, ofAnn)
	}
	if err := os.WriteFile(filepath.Join(old, "bad.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if d := call(counts); d.Effect != Deny || !strings.Contains(d.Reason, "bad.json") {
		t.Errorf("with a damaged old file: %+v, want a denial that names it", d)
	}
}
