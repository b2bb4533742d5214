package postgres_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/postgres"
	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func open(t testing.TB, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestRestart checks that a store goes on after the server has crashed and come back.
func TestRestart(t *testing.T) {
	s := open(t, pgtest.Database(t))
	add := func() error {
		return s.Extend(t.Context(), func(size int64, _ tlog.HashReader) (store.Addition, error) {
			n := tlog.StoredHashCount(size+1) - tlog.StoredHashCount(size)
			return store.Addition{Rows: []store.Row{{Index: size, Time: time.Now(), Kind: "run", Run: fmt.Sprint("run-", size), Content: []byte("{}")}}, Hashes: make([]tlog.Hash, n)}, nil
		})
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
	if size, err := s.Size(t.Context()); err != nil || size != 6 {
		t.Errorf("Size() = %d, %v, want 6", size, err)
	}
}
