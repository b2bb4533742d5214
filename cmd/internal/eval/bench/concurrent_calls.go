package main

import (
	"context"
	"fmt"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

const (
	concurrentRuns = 7
	// inFlight is the number of calls that wait for an answer at the same time.
	inFlight = 64
	// quickCalls is the number of quick calls in one sample.
	quickCalls = 1024
)

// concurrentCalls measures 64 calls of 100 ms made at once, and the time per quick call while 64 are in flight, beside the
// same calls made with the SDK alone.
func (b *bench) concurrentCalls(ctx context.Context) error {
	const slow, quick = "64 calls of 100 ms at once, directly with go-sdk", "quick calls, 64 in flight, directly with go-sdk"
	direct, err := b.directConcurrent(ctx, "weather", inFlight, listCities, "--latency", latency.String())
	if err != nil {
		return err
	}
	b.table.add(slow, "ms", "", direct)
	if direct, err = b.directConcurrent(ctx, "calculator", quickCalls, add); err != nil {
		return err
	}
	b.table.add(quick, "µs/call", "", perCall(direct))
	return b.each(func(be sandbox.Backend, lang sandbox.Language) error {
		var samples struct{ Slow, Quick []float64 } // milliseconds for all calls
		code := scriptText(lang, "concurrent_calls", "@INFLIGHT@", inFlight, "@QUICK@", quickCalls, "@RUNS@", concurrentRuns)
		if err := b.run(ctx, be, lang, code, nil, &samples); err != nil {
			return err
		}
		b.table.add(fmt.Sprintf("64 calls of 100 ms at once, %s %s", be.Name(), lang), "ms", slow, samples.Slow)
		b.table.add(fmt.Sprintf("quick calls, 64 in flight, %s %s", be.Name(), lang), "µs/call", quick, perCall(samples.Quick))
		return nil
	})
}

// perCall converts the milliseconds of all quick calls to the microseconds of one.
func perCall(samples []float64) []float64 {
	out := make([]float64, len(samples))
	for i, ms := range samples {
		out[i] = ms * 1000 / quickCalls
	}
	return out
}
