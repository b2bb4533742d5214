package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

const (
	callRuns    = 1000
	callWarmUps = 50
	// besideRuns is the number of direct calls made right before a sandbox's calls, and right after them.
	besideRuns = 300

	directCall = "call directly with go-sdk"
)

// sequentialCalls measures a thousand calls to the calculator, one after the other, from inside each sandbox, beside the
// same calls made from here. The cost of the bridge is computed from direct calls right before and right after those of
// the sandbox, because the load of the machine changes.
func (b *bench) sequentialCalls(ctx context.Context) error {
	direct, err := b.direct(ctx, callRuns)
	if err != nil {
		return err
	}
	b.table.add(directCall, "µs", "", direct)
	return b.each(func(be sandbox.Backend, lang sandbox.Language) error {
		before, err := b.direct(ctx, besideRuns)
		if err != nil {
			return err
		}
		var samples []float64 // microseconds of each call, as the script sees it
		if err := b.run(ctx, be, lang, scriptText(lang, "calls_in_turn", "@WARM@", callWarmUps, "@CALLS@", callRuns), nil, &samples); err != nil {
			return err
		}
		after, err := b.direct(ctx, besideRuns)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s %s", be.Name(), lang)
		b.table.add("call over the bridge "+name, "µs", directCall, samples)
		b.table.addDifference("what the bridge adds to a call, "+name, "µs", directCall, samples, slices.Concat(before, after))
		return nil
	})
}
