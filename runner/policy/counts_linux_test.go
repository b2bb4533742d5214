package policy

import (
	"os"
	"testing"

	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// TestCountsInPostgres lets several processes make calls at the same time, as several machines would.
func TestCountsInPostgres(t *testing.T) { countTogether(t, pgtest.Database(t)) }

func BenchmarkCountInPostgres(b *testing.B) { benchmarkCount(b, pgtest.Database(b)) }
