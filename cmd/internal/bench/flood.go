package main

import (
	"context"
	"fmt"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

const (
	parallelRuns = 7
	// inFlight is how many calls are without an answer at once.
	inFlight = 64
	// floodCalls is how many quick calls are made in one sample.
	floodCalls = 1024
)

// atOnceCode makes calls at once, to the slow server or to the quick one, and returns the time of all in milliseconds. Every
// sample is one run of the loop.
func atOnceCode(lang sandbox.Language, quick bool) string {
	calls, total := "list_cities()", inFlight
	if quick {
		calls, total = "add(numbers=[i, 2])", floodCalls
	}
	if lang == sandbox.LangPython {
		return fmt.Sprintf(`
import time
from concurrent.futures import ThreadPoolExecutor
from servers.calculator import add
from servers.weather import list_cities
def call(i):
    return %s
result = []
with ThreadPoolExecutor(max_workers=%d) as pool:
    call(0)
    for _ in range(%d):
        start = time.perf_counter()
        list(pool.map(call, range(%d)))
        result.append((time.perf_counter() - start) * 1e3)
`, calls, inFlight, parallelRuns, total)
	}
	calls = "listCities()"
	if quick {
		calls = "add({ numbers: [i, 2] })"
	}
	return fmt.Sprintf(`
import { add } from "./servers/calculator";
import { listCities } from "./servers/weather";
const call = async (i: number): Promise<unknown> => %s;
await call(0);
export const result: number[] = [];
for (let n = 0; n < %d; n++) {
  const start = performance.now();
  let next = 0;
  await Promise.all(Array.from({ length: %d }, async () => { while (next < %d) await call(next++); }));
  result.push(performance.now() - start);
}
`, calls, parallelRuns, inFlight, total)
}

// parallelCalls measures 64 calls of 100 ms made at once, and what a quick call takes when there are always 64 in flight,
// beside the same made with the SDK alone.
func (b *bench) parallelCalls(ctx context.Context) error {
	const slow, quick = "64 calls of 100 ms at once, directly with go-sdk", "quick calls, 64 in flight, directly with go-sdk"
	direct, err := b.directAtOnce(ctx, "weather", inFlight, listCities, "--latency", latency.String())
	if err != nil {
		return err
	}
	b.table.add(slow, "ms", "", direct)
	if direct, err = b.directAtOnce(ctx, "calculator", floodCalls, add); err != nil {
		return err
	}
	b.table.add(quick, "µs/call", "", perCall(direct))
	return b.each(func(be sandbox.Backend, lang sandbox.Language) error {
		var samples []float64
		if err := b.run(ctx, be, lang, atOnceCode(lang, false), nil, &samples); err != nil {
			return err
		}
		b.table.add(fmt.Sprintf("64 calls of 100 ms at once, %s %s", be.Name(), lang), "ms", slow, samples)
		if err := b.run(ctx, be, lang, atOnceCode(lang, true), nil, &samples); err != nil {
			return err
		}
		b.table.add(fmt.Sprintf("quick calls, 64 in flight, %s %s", be.Name(), lang), "µs/call", quick, perCall(samples))
		return nil
	})
}

// perCall turns the milliseconds of all quick calls into the microseconds of one.
func perCall(samples []float64) []float64 {
	out := make([]float64, len(samples))
	for i, ms := range samples {
		out[i] = ms * 1000 / floodCalls
	}
	return out
}
