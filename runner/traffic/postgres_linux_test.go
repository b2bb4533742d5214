package traffic

import (
	"context"
	"os"
	"testing"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/postgres"
	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// TestStoresMergeInPostgres is TestStoresMerge for two machines.
func TestStoresMergeInPostgres(t *testing.T) {
	address := pgtest.Database(t)
	mergeTwo(t, func() store.Opener {
		s, err := postgres.Open(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return func(context.Context) (store.Store, error) { return s, nil }
	})
}
