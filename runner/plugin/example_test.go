package plugin_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpgen/mcpgen/runner/plugin"
)

// limit is a business rule in Go: no call is over 10,000 in amount. A program gives it to runs in chain.Settings.Plugins.
type limit struct{}

func (limit) Decide(_ context.Context, e *plugin.Event) (*plugin.Answer, error) {
	var args struct{ Amount float64 }
	if err := json.Unmarshal(e.Arguments, &args); err != nil {
		return nil, err // which refuses the call
	}
	if args.Amount > 10_000 {
		return &plugin.Answer{Decision: plugin.Deny, Reason: "over 10,000"}, nil
	}
	return &plugin.Answer{Decision: plugin.Allow}, nil
}

func ExampleNew() {
	set := plugin.New(plugin.Plugin{Name: "limit", Hook: limit{}, On: []plugin.Point{plugin.Call}})
	for _, args := range []string{`{"amount":120}`, `{"amount":12000}`, `{"amount":"much"}`} {
		_, err := set.Ask(context.Background(), &plugin.Event{Hook: plugin.Call, Tool: "bank__pay", Arguments: json.RawMessage(args)}, plugin.Place{})
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// plugin limit: refused: over 10,000
	// plugin limit failed, and what it cannot check is refused: json: cannot unmarshal string into Go struct field .Amount of type float64
}
