package pii

import (
	"os"
	"testing"

	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

func TestMain(m *testing.M) {
	child()
	os.Exit(pgtest.Main(m))
}

func TestProcessesOnPostgres(t *testing.T) { testProcesses(t, pgtest.Database(t)) }
