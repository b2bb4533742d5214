package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

const (
	callRuns = 1000
	warmUp   = 50
	// besideRuns is how many direct calls are made right before and right after those of a sandbox.
	besideRuns = 300
)

// sequential makes calls one after the other and returns each one's time in microseconds.
func sequential(lang sandbox.Language, n int) string {
	if lang == sandbox.LangPython {
		return fmt.Sprintf(`
import time
from servers.calculator import add
for _ in range(%d):
    add(numbers=[1, 2])
result = []
for i in range(%d):
    start = time.perf_counter()
    add(numbers=[i, 2])
    result.append((time.perf_counter() - start) * 1e6)
`, warmUp, n)
	}
	return fmt.Sprintf(`
import { add } from "./servers/calculator";
for (let i = 0; i < %d; i++) await add({ numbers: [1, 2] });
export const result: number[] = [];
for (let i = 0; i < %d; i++) {
  const start = performance.now();
  await add({ numbers: [i, 2] });
  result.push((performance.now() - start) * 1e3);
}
`, warmUp, n)
}

const directCall = "call directly with go-sdk"

// bridgeCalls measures a thousand calls to the calculator, one after the other, from inside each sandbox, beside the same
// calls made from here. What a sandbox adds is reckoned against direct calls right before and after its own: how busy the
// machine is changes in between.
func (b *bench) bridgeCalls(ctx context.Context) error {
	direct, err := b.direct(ctx, callRuns)
	if err != nil {
		return err
	}
	b.table.add(directCall, "µs", "", direct)
	b.table.add("1,000 calls one after the other, directly with go-sdk", "ms", "", []float64{sum(direct) / 1000})
	var pooled []float64
	for i := range callRuns + warmUp {
		start := time.Now()
		if _, err := b.pool.Call(ctx, "calculator", "add", json.RawMessage(fmt.Sprintf(`{"numbers":[%d,2]}`, i)), nil); err != nil {
			return err
		}
		if i >= warmUp {
			pooled = append(pooled, micros(time.Since(start)))
		}
	}
	b.table.add("call through mcprun's own session", "µs", directCall, pooled)
	return b.each(func(be sandbox.Backend, lang sandbox.Language) error {
		before, err := b.direct(ctx, besideRuns)
		if err != nil {
			return err
		}
		var samples []float64
		if err := b.run(ctx, be, lang, sequential(lang, callRuns), nil, &samples); err != nil {
			return err
		}
		after, err := b.direct(ctx, besideRuns)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s %s", be.Name(), lang)
		b.table.add("call over the bridge "+name, "µs", directCall, samples)
		b.table.addOnTop("what the bridge adds to a call, "+name, "µs", directCall, samples, slices.Concat(before, after))
		atOnce, err := b.instantCalls(ctx, be, lang)
		if err != nil {
			return err
		}
		b.table.add("call that is answered in mcprun itself, "+name, "µs", directCall, atOnce)
		b.table.add("1,000 calls one after the other, "+name, "ms", "1,000 calls one after the other, directly with go-sdk", []float64{sum(samples) / 1000})
		return nil
	})
}

// instant is a server that answers at once and is no process.
type instant struct{}

func (instant) Call(context.Context, string, string, json.RawMessage, *upstream.CallOptions) (*upstream.CallResult, error) {
	return &upstream.CallResult{Structured: json.RawMessage(`{"result":3}`)}, nil
}

// instantCalls measures the same calls without the server: the bridge, the checks of a call, and the script's own share.
func (b *bench) instantCalls(ctx context.Context, be sandbox.Backend, lang sandbox.Language) (samples []float64, err error) {
	r, err := runner.New(&runner.Options{Tree: filepath.Join(b.root, "servers"), Upstreams: instant{}})
	if err != nil {
		return nil, err
	}
	alone := *b
	alone.runner = r
	return samples, alone.run(ctx, be, lang, sequential(lang, callRuns), nil, &samples)
}

func sum(samples []float64) (total float64) {
	for _, s := range samples {
		total += s
	}
	return total
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
