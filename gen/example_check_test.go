package gen_test

import (
	"context"
	"fmt"
	"os"

	"github.com/mcpgen/mcpgen/gen"
)

// A check writes nothing and reports what a sync would change. Its exit code is for continuous integration.
func ExampleSync_check() {
	dir := newProject() // a folder with an .mcp.json
	defer os.RemoveAll(dir)
	report, err := gen.Sync(context.Background(), gen.Options{Dir: dir, Lister: tickets, Check: true})
	if err != nil {
		panic(err)
	}
	fmt.Println(report.Outcome(), report.ExitCode())
	for _, c := range report.Changes {
		fmt.Println(c.Server, c.Kind, c.Tools)
	}
	// Output:
	// out of date 1
	// tickets server-added [close_ticket]
}
