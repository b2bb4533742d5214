package journal_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/journal"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/postgres"
	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

func TestSweep(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { testSweep(t, newStore(t)) })
	t.Run("postgres", func(t *testing.T) {
		s, err := postgres.Open(t.Context(), pgtest.Database(t))
		must(t, err)
		defer s.Close()
		testSweep(t, s)
	})
}

func testSweep(t *testing.T, s store.Store) {
	ctx := t.Context()
	begin := func(customer, run string) *journal.Journal {
		j, err := journal.Open(ctx, s, store.Key{Customer: customer, Kind: "journal", Name: run}, secret)
		must(t, err)
		c := j.Call("", "crm__get", []byte(run), false)
		must(t, c.Intend(ctx))
		must(t, c.Finish(ctx, value(`"`+strings.Repeat("x", 100_000)+`"`)))
		return j
	}
	orphan := begin("acme", "orphan")
	for _, customer := range []string{"", "gone"} {
		begin(customer, "orphan")
	}
	begin("acme", "work")
	live := begin("acme", "live")
	for kind, name := range map[string]string{"journal-result": "orphan-result/0-0", "session": "orphan"} { // of a process that died while it deleted; another's
		_, err := s.AppendLine(ctx, store.Key{Customer: "acme", Kind: kind, Name: name}, []byte("x"))
		must(t, err)
	}
	time.Sleep(2 * time.Millisecond) // times of lines have microseconds
	since := time.Now()
	must(t, live.Call("", "crm__send", []byte("1"), false).Intend(ctx))

	var asked []string
	known := func(_ context.Context, run string) (bool, error) {
		asked = append(asked, run)
		return run == "work", nil
	}
	if n, err := journal.Sweep(ctx, s, "journal", since.Add(-time.Hour), known); n != 0 || err != nil || len(asked) > 0 {
		t.Errorf("Sweep() of journals that are an hour old = %d, %v, and asked for %q; want 0", n, err, asked)
	}
	broken := errors.New("broken")
	if n, err := journal.Sweep(ctx, s, "journal", since, func(context.Context, string) (bool, error) { return false, broken }); n != 0 || !errors.Is(err, broken) {
		t.Errorf("Sweep() without knowledge = %d, %v, want 0 and the error", n, err)
	}
	if n, err := journal.Sweep(ctx, s, "journal", since, known); n != 4 || err != nil {
		t.Errorf("Sweep() = %d, %v, want 4", n, err)
	}
	if slices.Sort(asked); !slices.Equal(asked, []string{"orphan", "orphan", "orphan", "orphan-result", "work"}) {
		t.Errorf("Sweep() asked for %q", asked)
	}
	for key, want := range map[store.Key]int{
		{Customer: "acme", Kind: "journal"}: 2, {Customer: "acme", Kind: "journal-result"}: 2, {Customer: "acme", Kind: "session"}: 1,
		{Kind: "journal"}: 0, {Kind: "journal-result"}: 0, {Customer: "gone", Kind: "journal"}: 0, {Customer: "gone", Kind: "journal-result"}: 0,
	} {
		if names, err := s.ListLogs(ctx, key.Customer, key.Kind); err != nil || len(names) != want {
			t.Errorf("%s logs of %q = %q, %v, want %d", key.Kind, key.Customer, names, err, want)
		}
	}
	must(t, live.Call("", "crm__send", []byte("2"), false).Intend(ctx))
	for range 2 {
		if err := orphan.Call("", "crm__send", []byte("1"), false).Intend(ctx); !errors.Is(err, journal.ErrTakenOver) {
			t.Errorf("Intend() without the journal = %v, want ErrTakenOver", err)
		}
	}
}
