package runner_test

import (
	"context"
	"fmt"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded"
)

// A policy decides about each call. The script gets the refusal as an error, and the server gets nothing.
func Example_policy() {
	const code = `import { deleteRecord } from "./servers/crm";
try {
  await deleteRecord({ object_type: "Lead", record_id: "00Q1" });
} catch (e) {
  console.log(e.message);
}`

	rules, err := policy.New(&config.Policy{PolicyPart: config.PolicyPart{Rules: []config.PolicyRule{
		{Name: "nothing is deleted", Deny: config.Globs{"crm__delete*"}},
	}}}, nil)
	if err != nil {
		panic(err)
	}
	s := &runner.Script{Name: "clean.ts", Code: code, Language: sandbox.LangTypeScript, Capture: true}
	res, err := newCRM().Launch(context.Background(), s, runner.LaunchOptions{Sandboxes: []sandbox.Backend{embedded.New(nil)}, Policy: rules})
	if err != nil {
		panic(err)
	}
	fmt.Print(res.Stdout)
	// Output:
	// crm__delete_record: policy: refused: rule "nothing is deleted"
}
