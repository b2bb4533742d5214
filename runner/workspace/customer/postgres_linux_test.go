package customer

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/postgres"
	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// postgresState opens a database as a process of its own does.
func postgresStore(t *testing.T, url string) store.Opener {
	t.Helper()
	s, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return func(context.Context) (store.Store, error) { return s, nil }
}

func TestMoveFilesToPostgres(t *testing.T) { testMoveFiles(t, postgresStore(t, pgtest.Database(t))) }

// TestTwoMachines uses one database from two machines, which have folders of their own.
func TestTwoMachines(t *testing.T) {
	url := pgtest.Database(t)
	var roots [2]*Root
	for i := range roots {
		roots[i] = openRoot(t, t.TempDir(), postgresStore(t, url), nil)
	}
	own := session(t, customer(t, roots[0], "acme"), "one")
	write(t, filepath.Join(own.customer.Files(), "a"), "x")
	if _, err := own.Checkpoint(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}

	other, err := roots[1].FindSession("one")
	if err != nil {
		t.Fatal(err)
	}
	list, err := other.Checkpoints()
	if err != nil || len(list) != 1 || list[0].Name != "first" || list[0].Files != 1 {
		t.Errorf("Checkpoints() on the other machine = %+v, %v", list, err)
	}
	if _, err := other.Restore(t.Context(), ""); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "on the machine that made it") {
		t.Errorf("Restore() without the files = %v, want an error that says where they are", err)
	}
	if _, err := other.Checkpoint(t.Context(), "FIRST"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Checkpoint() of a name that the other machine uses = %v, want fs.ErrExist", err)
	}
	if _, err := other.customer.NewSession(Meta{ID: "one"}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("NewSession() of an id that the other machine uses = %v, want fs.ErrExist", err)
	}
	var refused *IDError
	if _, err := roots[1].Customer("ACME"); !errors.As(err, &refused) {
		t.Errorf("Customer() with different case = %v, want an *IDError", err)
	}

	var wg sync.WaitGroup
	for _, s := range []*Session{own, other} {
		wg.Go(func() {
			for range 20 {
				if err := s.Append(Record{Kind: KindRun, Run: &Run{Cause: "exit"}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, r := range roots {
		stats, err := customer(t, r, "acme").Stats(t.Context())
		if err != nil || stats.Runs != 40 {
			t.Errorf("Stats() = %+v, %v, want 40 runs", stats, err)
		}
	}

	roots[1].opt.Now = func() time.Time { return time.Now().Add(time.Hour) }
	if removed, err := roots[1].GC(t.Context(), GCOptions{Idle: time.Minute}); err != nil || len(removed) != 1 || len(removed[0].Sessions) != 1 {
		t.Errorf("GC() = %+v, %v, want one session", removed, err)
	}
	if err := own.Append(Record{Kind: KindTask}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Append() to a session that the other machine removed = %v, want fs.ErrNotExist", err)
	}
	st := must(own.customer.store(t.Context()))
	for _, kind := range []string{kindSession, kindCheckpoint} {
		if list, err := st.ListDocuments(t.Context(), "acme", kind); err != nil || len(list) > 0 {
			t.Errorf("GC() left %v, %v", list, err)
		}
	}
	if list, err := st.ListLogs(t.Context(), "acme", kindLog); err != nil || len(list) > 0 {
		t.Errorf("GC() left the logs %v, %v", list, err)
	}
	if _, err := own.customer.NewSession(Meta{ID: "one"}); err != nil {
		t.Errorf("NewSession() after GC() = %v", err)
	}
}
