package report_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/audit/report"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

func Example() {
	dir, err := os.MkdirTemp("", "record")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	s, err := sqlite.Open(ctx, filepath.Join(dir, "state.db"), sqlite.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	log, err := audit.Open(s, audit.Options{Who: audit.Who{User: "ann"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	program := audit.Program{Action: "execute_code", Name: "sync.ts", Risk: "high"}
	if err := log.Append(ctx, audit.Entry{Kind: audit.KindRun, Run: "run-1", Body: audit.RunStart{Program: program, Sandbox: "docker"}}); err != nil {
		fmt.Println(err)
	}
	if err := log.Close(); err != nil {
		fmt.Println(err)
	}

	r, err := report.Make(ctx, s, report.Options{Filter: report.Filter{User: "ann"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Executions, "execution,", r.HighRisk, "of high risk,", r.Unknown, "unknown:", r.Notable[0].Name)
	// Output: 1 execution, 1 of high risk, 1 unknown: sync.ts
}
