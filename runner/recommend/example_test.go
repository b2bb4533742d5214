package recommend_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/recommend"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// After ten runs that used a sheet with a record of the CRM, a search for a sheet names the other tool.
func ExampleAnnotate() {
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
	log, err := audit.Open(s, audit.Options{Who: audit.Who{Customer: "acme"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 10 {
		run := fmt.Sprintf("run-%d", i)
		for n, tool := range []string{"drive__get_sheet", "crm__update_record"} {
			log.Later(audit.Entry{Kind: audit.KindCallEnd, Run: run, Body: audit.CallEnd{Call: n + 1, Tool: tool, Outcome: "ok"}})
		}
		log.Later(audit.Entry{Kind: audit.KindRunEnd, Run: run, Body: audit.RunEnd{Program: audit.Program{Action: "execute_code"}, Sandbox: "embedded"}})
	}
	if err := log.Close(); err != nil {
		fmt.Println(err)
	}

	found := []search.Result{{Tool: "drive__get_sheet"}}
	if err := recommend.Annotate(ctx, s, "acme", found, func(string) bool { return true }); err != nil {
		fmt.Println(err)
	}
	fmt.Println(found[0].UsedTogether)
	// Output: [crm__update_record (in 10 of 10 runs)]
}
