package runner_test

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded"
)

// manager is a way to ask a person: a chat, a ticket, or here a constant.
type manager struct{}

func (manager) Approve(_ context.Context, q *approve.Question) (approve.Answer, error) {
	fmt.Printf("may it call %s with %s?\n", q.Tool, q.Arguments)
	return approve.Answer{Scope: approve.Once, By: "Grace"}, nil
}

// A rule wants a person's approval, and the call waits for it.
func Example_approval() {
	const code = `import { deleteRecord } from "./servers/crm";
console.log("deleted", (await deleteRecord({ object_type: "Lead", record_id: "00Q1" })).name);`

	rules, err := policy.New(&config.Policy{PolicyPart: config.PolicyPart{Rules: []config.PolicyRule{{Ask: config.Globs{"crm__delete*"}}}}}, nil)
	if err != nil {
		panic(err)
	}
	s := &runner.Script{Name: "clean.ts", Code: code, Language: sandbox.LangTypeScript, Capture: true}
	s.Calls.Approver = approve.New(time.Minute, manager{})
	res, err := newCRM().Launch(context.Background(), s, runner.LaunchOptions{Sandboxes: []sandbox.Backend{embedded.New(nil)}, Policy: rules})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%sapproved by %s\n", res.Stdout, res.Calls[0].Policy.By)
	// Output:
	// may it call crm__delete_record with {"object_type":"Lead","record_id":"00Q1"}?
	// the server gets delete_record {"object_type":"Lead","record_id":"00Q1"}
	// deleted Ada Byron
	// approved by Grace
}
