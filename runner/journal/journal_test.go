package journal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/internal/seal"
	"github.com/mcpgen/mcpgen/runner/journal"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/postgres"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

var (
	key    = store.Key{Customer: "acme", Kind: "journal", Name: "run-1"}
	secret = []byte("0123456789abcdef")
)

func newStore(t testing.TB) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// open begins an execution.
func open(t testing.TB, logs store.Logs) *journal.Journal {
	t.Helper()
	j, err := journal.Open(context.Background(), logs, key, secret)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// wantOutcome compares what the journal has of a call with a value; "" is nothing.
func wantOutcome(t *testing.T, c *journal.Call, want string) {
	t.Helper()
	out, err := c.Outcome(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	if out != nil {
		if got = string(out.Value); out.Error != nil {
			got = out.Error.Message
		}
	}
	if got != want {
		t.Errorf("Outcome() = %.100q, want %.100q", got, want)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func value(text string) *journal.Outcome { return &journal.Outcome{Value: []byte(text), Sent: true} }

func TestContinue(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { testContinue(t, newStore(t)) })
	t.Run("postgres", func(t *testing.T) {
		s, err := postgres.Open(t.Context(), pgtest.Database(t))
		must(t, err)
		defer s.Close()
		testContinue(t, s)
	})
}

func testContinue(t *testing.T, s store.Store) {
	ctx, large := t.Context(), `"`+strings.Repeat("<é>", 100_000)+`"`
	j := open(t, s)
	must(t, j.Continues())
	for _, c := range []struct {
		tool, args string
		intends    bool
		out        *journal.Outcome
	}{
		{"crm__send", `{"a":1}`, true, value(`"first"`)},
		{"crm__send", `{"a":1}`, true, value(`"second"`)},
		{"crm__send", `{"a":2}`, true, nil},
		{"crm__get", `{}`, false, value(large)},
		{"crm__large", `{}`, true, &journal.Outcome{Error: &call.Error{Kind: call.KindTool, Message: "bad", Content: json.RawMessage(large)}, Sent: true}},
		{"crm__send", `{"a":3}`, false, &journal.Outcome{Error: &call.Error{Kind: call.KindDenied, Message: "refused"}}},
	} {
		at := j.Call("", c.tool, []byte(c.args), false)
		wantOutcome(t, at, "")
		if at.Interrupted() {
			t.Errorf("%s %s is interrupted in the first execution", c.tool, c.args)
		}
		if c.intends {
			must(t, at.Intend(ctx))
			must(t, at.Intend(ctx))
		}
		if c.out != nil {
			must(t, at.Finish(ctx, c.out))
		}
	}
	for range 2 { // whatever an execution has read, the next one reads too
		j = open(t, s)
		must(t, j.Continues())
		get := j.Call("", "crm__get", []byte(`{}`), false) // another order
		wantOutcome(t, get, large)
		unknown := j.Call("", "crm__send", []byte(`{"a":2}`), false)
		wantOutcome(t, unknown, "")
		if !unknown.Interrupted() || get.Interrupted() {
			t.Errorf("Interrupted() = %t and %t, want true and false", unknown.Interrupted(), get.Interrupted())
		}
		wantOutcome(t, j.Call("", "crm__send", []byte(`{"a":1}`), false), `"first"`)
		wantOutcome(t, j.Call("", "crm__send", []byte(`{"a":1}`), true), "") // another form of the result
		wantOutcome(t, j.Call("", "crm__send", []byte(`{"a":1}`), false), `"second"`)
		wantOutcome(t, j.Call("", "crm__send", []byte(`{"a":1}`), false), "")
		wantOutcome(t, j.Call("", "crm__send", []byte(`{"a":3}`), false), "refused")
		out, err := j.Call("", "crm__large", []byte(`{}`), false).Outcome(ctx)
		if err != nil || out.Error == nil || string(out.Error.Content) != large || !out.Sent {
			t.Errorf("Outcome() of a large error = %.200v, %v", out, err)
		}
	}
	must(t, journal.Delete(ctx, s, key))
	for _, kind := range []string{"journal", "journal-result"} {
		if names, err := s.ListLogs(ctx, key.Customer, kind); err != nil || len(names) > 0 {
			t.Errorf("logs after Delete() = %q, %v", names, err)
		}
	}
}

// TestSecrets looks for what was kept in what the database has.
func TestSecrets(t *testing.T) {
	s := newStore(t)
	c := open(t, s).Call("", "crm__send", []byte(`{"to":"eve@example.com"}`), false)
	must(t, c.Intend(t.Context()))
	must(t, c.Finish(t.Context(), value(`"eve@example.com"`)))
	n := 0
	err := s.Lines(t.Context(), key, 0, func(l store.Line) error {
		n++
		for _, secret := range []string{"eve@example.com", "crm__send", "ZXZlQGV4YW1wbGUuY29t"} {
			if bytes.Contains(l.Value, []byte(secret)) {
				t.Errorf("line %d has %s", l.Number, secret)
			}
		}
		return nil
	})
	if err != nil || n != 3 {
		t.Errorf("%d lines, %v, want 3", n, err)
	}
	if _, err := journal.Open(t.Context(), s, key, []byte("fedcba9876543210")); err == nil || !strings.Contains(err.Error(), "open the journal of run-1: line 1: it was sealed with another key") {
		t.Errorf("Open() with another key = %v", err)
	}
	if _, err := journal.Open(t.Context(), s, key, []byte("short")); err == nil {
		t.Error("Open() took a short secret")
	}
}

// TestMoved gives a run the lines of another, and a call the large result of another.
func TestMoved(t *testing.T) {
	logs, ctx := &memory{}, t.Context()
	j := open(t, logs)
	for _, args := range []string{"1", "2"} {
		must(t, j.Call("", "crm__get", []byte(args), false).Finish(ctx, value(`"`+strings.Repeat(args, 20<<10)+`"`)))
	}
	var large []store.Key
	for k := range logs.logs {
		if k != key {
			large = append(large, k)
		}
	}
	a, b := large[0], large[1]
	logs.logs[a], logs.logs[b] = logs.logs[b], logs.logs[a]
	j = open(t, logs)
	for _, args := range []string{"1", "2"} {
		if out, err := j.Call("", "crm__get", []byte(args), false).Outcome(ctx); !errors.Is(err, seal.ErrForeign) {
			t.Errorf("Outcome() of %s = %.20v, %v, want ErrForeign", args, out, err)
		}
	}
	for _, other := range []store.Key{{Customer: "bob", Kind: key.Kind, Name: key.Name}, {Customer: key.Customer, Kind: key.Kind, Name: "run-2"}} {
		logs.logs[other] = slices.Clone(logs.logs[key])
		if _, err := journal.Open(ctx, logs, other, secret); !errors.Is(err, seal.ErrForeign) {
			t.Errorf("Open() of %v = %v, want ErrForeign", other, err)
		}
	}
}

// TestTakenOver lets an execution go on after another has begun.
func TestTakenOver(t *testing.T) {
	s, ctx := newStore(t), t.Context()
	old := open(t, s)
	sent := old.Call("", "crm__send", []byte(`1`), false)
	must(t, sent.Intend(ctx))
	now := open(t, s)
	if err := old.Call("", "crm__send", []byte(`2`), false).Intend(ctx); !errors.Is(err, journal.ErrTakenOver) {
		t.Errorf("Intend() of the old execution = %v, want ErrTakenOver", err)
	}
	if err := sent.Finish(ctx, value(`"late"`)); !errors.Is(err, journal.ErrTakenOver) {
		t.Errorf("Finish() of the old execution = %v, want ErrTakenOver", err)
	}
	if err := old.Outside(ctx, "used the network"); !errors.Is(err, journal.ErrTakenOver) {
		t.Errorf("Outside() of the old execution = %v, want ErrTakenOver", err)
	}
	other := now.Call("", "crm__send", []byte(`3`), false)
	must(t, other.Intend(ctx)) // what the old one has left in the log is no hindrance
	must(t, other.Finish(ctx, value(`"new"`)))

	third := open(t, s)
	must(t, third.Continues())
	if c := third.Call("", "crm__send", []byte(`1`), false); !c.Interrupted() {
		t.Error("a call whose end came too late is not unknown")
	}
	if c := third.Call("", "crm__send", []byte(`2`), false); c.Interrupted() {
		t.Error("a call that was refused counts as sent")
	}
	wantOutcome(t, third.Call("", "crm__send", []byte(`3`), false), `"new"`)
}

func TestOutside(t *testing.T) {
	s, ctx := newStore(t), t.Context()
	j := open(t, s)
	for range 3 {
		must(t, j.Outside(ctx, "used the network"))
		must(t, j.Outside(ctx, "called skills/save"))
	}
	must(t, j.Continues())
	n := 0
	must(t, s.Lines(ctx, key, 0, func(store.Line) error { n++; return nil }))
	if n != 3 {
		t.Errorf("%d lines, want 3", n)
	}
	want := "the run called skills/save, and used the network before its process ended, and is not repeated"
	for range 2 {
		err := open(t, s).Continues()
		if _, ok := errors.AsType[*journal.OutsideError](err); !ok || err.Error() != want {
			t.Errorf("Continues() = %v, want %s", err, want)
		}
	}
	var none *journal.Journal
	must(t, errors.Join(none.Continues(), none.Outside(ctx, "used the network")))
}

// TestAlone makes a new call while calls of former executions are left.
func TestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &memory{}
		j := open(t, s)
		for _, args := range []string{"1", "2"} {
			must(t, j.Call("", "crm__send", []byte(args), false).Intend(t.Context()))
		}
		must(t, j.Call("", "crm__get", []byte("1"), false).Finish(t.Context(), value("1")))
		j = open(t, s)
		began := time.Now()
		if !j.Call("", "crm__get", []byte("2"), false).Alone(t.Context()) || !j.Call("", "crm__put", []byte("2"), false).Alone(t.Context()) || time.Since(began) != 0 {
			t.Errorf("Alone() = false or after %v, want true at once", time.Since(began))
		}
		fresh, known := j.Call("", "crm__send", []byte("3"), false), j.Call("", "crm__send", []byte("1"), false)
		if !known.Interrupted() || fresh.Interrupted() {
			t.Errorf("Interrupted() = %t and %t, want true and false", known.Interrupted(), fresh.Interrupted())
		}
		go func() {
			time.Sleep(time.Second)
			j.Call("", "crm__send", []byte("2"), false)
		}()
		if !fresh.Alone(t.Context()) || time.Since(began) != time.Second {
			t.Errorf("Alone() = false or after %v, want true after 1s", time.Since(began))
		}

		j, began = open(t, s), time.Now()
		for range 2 { // it waits once
			if j.Call("", "crm__send", []byte("3"), false).Alone(t.Context()) || time.Since(began) != patience {
				t.Errorf("Alone() = true or after %v, want false after %v", time.Since(began), patience)
			}
		}
	})
}

const patience = 10 * time.Second

// TestBounds keeps more outcomes of calls that could do without than there is room for. What the policy has to know of the others is kept.
func TestBounds(t *testing.T) {
	logs, ctx := &memory{}, t.Context()
	j := open(t, logs)
	for range 10_010 {
		must(t, j.Call("", "crm__send", []byte("1"), false).Finish(ctx, &journal.Outcome{Error: &call.Error{Kind: call.KindDenied, Message: "no"}}))
	}
	if n := len(logs.logs[key]); n != 1+10_000 {
		t.Errorf("%d lines, want one more than 10000", n)
	}
	out := value(`"` + strings.Repeat("x", 70<<20) + `"`)
	for range 5 {
		c := j.Call("", "crm__get", []byte("1"), false)
		c.Count([]string{"gets"})
		j.Receive("crm", "crm")
		must(t, c.Finish(ctx, out))
	}
	must(t, j.Call("", "crm__get", []byte("1"), false).Finish(ctx, out))
	if n := len(logs.logs[key]); n != 1+10_000+5 {
		t.Errorf("%d lines, want five more", n)
	}
	j = open(t, logs)
	if received, counted := j.Past(); fmt.Sprint(received, counted) != "[crm] map[gets:5]" {
		t.Errorf("Past() = %v, %v, want crm and 5 gets", received, counted)
	}
	for i := range 5 {
		if kept := j.Call("", "crm__get", []byte("1"), false).Size() > 0; kept != (i < 3) {
			t.Errorf("the outcome of call %d is kept: %t", i+1, kept)
		}
	}
}

// memory keeps logs in memory.
type memory struct {
	store.Logs
	logs  map[store.Key][]store.Line
	fails error
}

func (m *memory) AppendLine(_ context.Context, k store.Key, value []byte) (int64, error) {
	if m.fails != nil {
		return 0, m.fails
	}
	if m.logs == nil {
		m.logs = map[store.Key][]store.Line{}
	}
	n := int64(len(m.logs[k])) + 1
	m.logs[k] = append(m.logs[k], store.Line{Number: n, Value: value})
	return n, nil
}

func (m *memory) Lines(_ context.Context, k store.Key, after int64, each func(store.Line) error) error {
	for _, l := range m.logs[k][after:] {
		if err := each(l); err != nil {
			return err
		}
	}
	return nil
}

// TestRead reads what a run has sent, which ends no execution.
func TestRead(t *testing.T) {
	logs, ctx := newStore(t), t.Context()
	sent := func(want string) {
		t.Helper()
		got, err := journal.Read(ctx, logs, key, secret)
		if err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprint(got.Sent, got.Unknown); text != want {
			t.Errorf("Read() = %s, want %s", text, want)
		}
	}
	sent("map[] []")
	j := open(t, logs)
	must(t, j.Call("", "crm__get", []byte("1"), false).Finish(ctx, value("1"))) // changes nothing
	for i, tool := range []string{"crm__send", "crm__send", "crm__delete"} {
		c := j.Call("", tool, []byte(`"same"`), false)
		must(t, c.Intend(ctx))
		if i > 0 { // the outcome of the first is unknown
			must(t, c.Finish(ctx, value("1")))
		}
	}
	sent("map[crm__delete:1 crm__send:2] [crm__send]")
	must(t, j.Call("copy#0", "crm__send", []byte("2"), false).Intend(ctx))
	sent("map[crm__delete:1 crm__send:3] [crm__send crm__send in copy]")
	if got, err := journal.Read(ctx, logs, key, []byte("another secret, as long")); err == nil {
		t.Errorf("Read() with another key = %v, want an error", got)
	}
}

func TestFullDisk(t *testing.T) {
	logs, ctx := &memory{}, t.Context()
	j := open(t, logs)
	logs.fails = store.ErrFull
	c := j.Call("", "crm__send", []byte("1"), false)
	if err := errors.Join(c.Intend(ctx)); !errors.Is(err, store.ErrFull) {
		t.Errorf("Intend() = %v, want ErrFull", err)
	}
	if err := j.Outside(ctx, "used the network"); !errors.Is(err, store.ErrFull) {
		t.Errorf("Outside() = %v, want ErrFull", err)
	}
	if err := c.Finish(ctx, value("1")); !errors.Is(err, store.ErrFull) {
		t.Errorf("Finish() = %v, want ErrFull", err)
	}
	if _, err := journal.Open(ctx, logs, key, secret); !errors.Is(err, store.ErrFull) {
		t.Errorf("Open() = %v, want ErrFull", err)
	}
	logs.fails = nil
	must(t, c.Intend(ctx))
}
