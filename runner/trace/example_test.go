package trace_test

import (
	"fmt"
	"os"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/trace"
)

func ExampleText() {
	run := &runner.Result{DurationMS: 120, CallCount: 2, Calls: []chain.CallRecord{
		{Call: 1, Tool: "crm__list", StartMS: 0, DurationMS: 50, Outcome: "ok"},
		{Call: 2, Tool: "crm__get", StartMS: 50, DurationMS: 50, QueueMS: 25, Outcome: "ok"},
	}}
	if err := trace.Text(os.Stdout, "report.ts", run, 60); err != nil {
		fmt.Println(err)
	}
	// Output:
	// report.ts: 2 calls, run 120 ms
	// 1  crm__list  █████████████████                     50 ms ok
	// 2  crm__get                    ░░░░░░░░████████     50 ms ok
}
