package runner_test

import (
	"context"
	"fmt"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded"
)

// A script runs in the embedded sandbox, which needs nothing installed. It uses the wrappers of the tree.
func Example_run() {
	const code = `import { getRecord } from "./servers/crm";
const lead = await getRecord({ object_type: "Lead", record_id: "00Q1" });
console.log("hello", lead.record.Name);`

	r := newCRM() // runner.New, with the tree and a pool of servers
	list := []sandbox.Backend{embedded.New(nil)}
	s := &runner.Script{Name: "hello.ts", Code: code, Language: sandbox.LangTypeScript, Capture: true}
	res, err := r.Launch(context.Background(), s, runner.LaunchOptions{Sandboxes: list})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s%d call, exit code %d\n", res.Stdout, res.CallCount, res.ExitCode)
	// Output:
	// the server gets get_record {"object_type":"Lead","record_id":"00Q1"}
	// hello Ada Byron
	// 1 call, exit code 0
}
