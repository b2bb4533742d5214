package policy_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/policy"
)

func Example() {
	p, err := policy.New(&config.Policy{PolicyPart: config.PolicyPart{Rules: []config.PolicyRule{
		{Name: "large transfers ask", Ask: config.Globs{"bank__transfer"}, When: "args.amount > 10000"},
	}}}, nil)
	if err != nil {
		panic(err)
	}
	run := &policy.Run{}
	for _, args := range []string{`{"amount": 20}`, `{"amount": 20000}`} {
		d := p.Decide(context.Background(), &policy.Request{Server: "bank", Dir: "bank", Name: "transfer", Tool: "bank__transfer", Args: json.RawMessage(args), Run: run})
		fmt.Printf("%s: %q\n", d.Effect, d.Rule)
	}
	// Output:
	// allow: ""
	// ask: "large transfers ask"
}
