package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/postgres"
	"github.com/mcpgen/mcpgen/runner/store/storetest"
	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

func openURL(ctx context.Context, url string) (store.Store, error) {
	s, err := postgres.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func TestMain(m *testing.M) {
	storetest.Child(openURL)
	os.Exit(pgtest.Main(m))
}

// opener returns a function that opens the store at a URL, and closes it with the test.
func opener(t *testing.T, url string) func() store.Store {
	return func() store.Store {
		s, err := openURL(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("Close() = %v", err)
			}
		})
		return s
	}
}

func TestStore(t *testing.T) {
	storetest.Test(t, func(t *testing.T) func() store.Store { return opener(t, pgtest.Database(t)) })
}

func TestKill(t *testing.T) {
	url := pgtest.Database(t)
	times := 25
	if testing.Short() {
		times = 5
	}
	storetest.Kill(t, url, opener(t, url), times)
}

// TestFirstOpening checks that those who open a new database at the same time all succeed.
func TestFirstOpening(t *testing.T) {
	url := pgtest.Database(t)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			s, err := openURL(t.Context(), url)
			if err != nil {
				t.Errorf("Open() beside others = %v", err)
				return
			}
			_ = s.Close()
		})
	}
	all.Wait()
}

func TestNotOurs(t *testing.T) {
	url := pgtest.Database(t)
	opener(t, url)()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, true)"); err != nil {
		t.Fatal(err)
	}
	if _, err := openURL(t.Context(), url); !errors.Is(err, store.ErrNewer) {
		t.Errorf("Open() of a newer database = %v, want ErrNewer", err)
	}
	for _, bad := range []string{"postgres://ann:hunter2@127.0.0.1:1/db", "postgres://ann:hunter2@127.0.0.1:port/db", "postgres://ann:hunter2%@x/"} {
		if _, err := openURL(t.Context(), bad); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Open(%q) = %v, want an error without the password", bad, err)
		}
	}
}

// TestRestart checks that a store goes on after the server has crashed and come back.
func TestRestart(t *testing.T) {
	s := opener(t, pgtest.Database(t))()
	add := func() error {
		_, err := storetest.Append(t.Context(), s, store.Row{Kind: "call"})
		return err
	}
	for range 5 {
		if err := add(); err != nil {
			t.Fatal(err)
		}
	}
	pgtest.Restart(t)
	var err error
	for range 20 { // connections of the pool that the crash has closed
		if err = add(); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if size := storetest.Check(t, s); size != 6 {
		t.Errorf("Size() = %d, want 6", size)
	}
}
