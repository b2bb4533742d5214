package runner_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded"
)

// The first run records its calls, with personal data masked. The second gets its answers from the recording: the server is not asked.
func Example_replay() {
	const code = `import { getRecord } from "./servers/crm";
console.log((await getRecord({ object_type: "Lead", record_id: "00Q1" })).record.Email);`

	r, list := newCRM(), []sandbox.Backend{embedded.New(nil)}
	var recording bytes.Buffer
	for _, replay := range []bool{false, true} {
		s := &runner.Script{Name: "mail.ts", Code: code, Language: sandbox.LangTypeScript, Capture: true}
		if replay {
			s.Calls.Replay = &recording
		} else {
			s.Calls.Record = &recording
		}
		res, err := r.Launch(context.Background(), s, runner.LaunchOptions{Sandboxes: list})
		if err != nil {
			panic(err)
		}
		fmt.Print(res.Stdout)
	}
	// Output:
	// the server gets get_record {"object_type":"Lead","record_id":"00Q1"}
	// ada@engine.example
	// [EMAIL_1]
}
