package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
)

const (
	callRuns      = 300
	parallelRuns  = 7
	parallelCalls = 20
)

// sequential makes calls one after the other and returns each one's time in microseconds.
func sequential(lang sandbox.Language, n int) string {
	if lang == sandbox.LangPython {
		return fmt.Sprintf(`
import time
from servers.calculator import add
for _ in range(20):
    add(numbers=[1, 2])
result = []
for i in range(%d):
    start = time.perf_counter()
    add(numbers=[i, 2])
    result.append((time.perf_counter() - start) * 1e6)
`, n)
	}
	return fmt.Sprintf(`
import { add } from "./servers/calculator";
for (let i = 0; i < 20; i++) await add({ numbers: [1, 2] });
export const result: number[] = [];
for (let i = 0; i < %d; i++) {
  const start = performance.now();
  await add({ numbers: [i, 2] });
  result.push((performance.now() - start) * 1e3);
}
`, n)
}

const directCall = "call directly with go-sdk"

// bridgeCalls measures a call to the calculator from inside each sandbox beside the same call made from here.
func (b *bench) bridgeCalls(ctx context.Context) error {
	direct, err := b.direct(ctx, callRuns)
	if err != nil {
		return err
	}
	b.table.add(directCall, "µs", "", direct)
	var pooled []float64
	for i := range callRuns + 20 {
		start := time.Now()
		if _, err := b.pool.Call(ctx, "calculator", "add", json.RawMessage(fmt.Sprintf(`{"numbers":[%d,2]}`, i)), nil); err != nil {
			return err
		}
		if i >= 20 {
			pooled = append(pooled, micros(time.Since(start)))
		}
	}
	b.table.add("call through mcprun's own session", "µs", directCall, pooled)
	return b.each(func(be sandbox.Backend, lang sandbox.Language) error {
		var samples []float64
		if err := b.run(ctx, be, lang, sequential(lang, callRuns), nil, &samples); err != nil {
			return err
		}
		b.table.add(fmt.Sprintf("call over the bridge %s %s", be.Name(), lang), "µs", directCall, samples)
		return nil
	})
}

// parallel makes calls at once to the slow server and returns the time of all in milliseconds.
func parallel(lang sandbox.Language, n int) string {
	if lang == sandbox.LangPython {
		return fmt.Sprintf(`
import time
from concurrent.futures import ThreadPoolExecutor
from servers.weather import list_cities
list_cities()
with ThreadPoolExecutor(max_workers=%[1]d) as pool:
    start = time.perf_counter()
    list(pool.map(lambda _: list_cities(), range(%[1]d)))
    result = (time.perf_counter() - start) * 1e3
`, n)
	}
	return fmt.Sprintf(`
import { listCities } from "./servers/weather";
await listCities();
const start = performance.now();
await Promise.all(Array.from({ length: %d }, () => listCities()));
export const result = performance.now() - start;
`, n)
}

// parallelCalls measures 20 calls of 100 ms made at once.
func (b *bench) parallelCalls(ctx context.Context) error {
	const base = "one call of 100 ms"
	var samples []float64
	for range parallelRuns {
		start := time.Now()
		if _, err := b.pool.Call(ctx, "weather", "list_cities", json.RawMessage(`{}`), nil); err != nil {
			return err
		}
		samples = append(samples, millis(time.Since(start)))
	}
	b.table.add(base, "ms", "", samples)
	return b.each(func(be sandbox.Backend, lang sandbox.Language) error {
		var samples []float64
		for range parallelRuns {
			var took float64
			if err := b.run(ctx, be, lang, parallel(lang, parallelCalls), nil, &took); err != nil {
				return err
			}
			samples = append(samples, took)
		}
		b.table.add(fmt.Sprintf("%d such calls at once %s %s", parallelCalls, be.Name(), lang), "ms", base, samples)
		return nil
	})
}

// bundle measures how long a script that imports wrappers takes to become one module.
func (b *bench) bundle(ctx context.Context) error {
	code := sequential(sandbox.LangTypeScript, 1)
	var samples []float64
	for range startRuns {
		start := time.Now()
		_, err := script.Prepare(ctx, script.Source{Name: "bench.ts", Code: code, Language: sandbox.LangTypeScript},
			script.Options{Runtime: sandbox.Node, Tree: filepath.Join(b.root, "servers")})
		if err != nil {
			return err
		}
		samples = append(samples, millis(time.Since(start)))
	}
	b.table.add("bundle a script with its wrappers", "ms", "", samples)
	return nil
}

// tokenUse counts what the copy example costs the model, beside direct tool calls.
func (b *bench) tokenUse(ctx context.Context) error {
	path := filepath.Join(b.root, "examples", "copy-transcript.ts")
	code, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return b.each(func(be sandbox.Backend, lang sandbox.Language) error {
		if be.Name() != "embedded" {
			return nil
		}
		res, err := b.runner.Run(ctx, runner.Script{Name: filepath.Base(path), Code: string(code), Language: lang, Backend: be, Capture: true})
		if err != nil {
			return err
		}
		if res.ExitCode != 0 {
			return fmt.Errorf("copy example: exit code %d: %s", res.ExitCode, res.Stderr)
		}
		b.table.add("copy a transcript by direct tool calls", "tokens", "", []float64{float64(res.Tokens.Direct)})
		b.table.add("copy a transcript by a script", "tokens", "copy a transcript by direct tool calls", []float64{float64(res.Tokens.Used)})
		return nil
	})
}
