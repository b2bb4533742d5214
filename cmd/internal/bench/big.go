package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

const (
	bigRuns = 5
	// bigSize is how many bytes are written and read in one call.
	bigSize = 10_000_000
	bigLine = "0123456789 a \"quoted\" word\n"
)

// bigCalls writes a file of 10 MB in one call and reads it in another, and returns the times in milliseconds.
func bigCalls(lang sandbox.Language) string {
	if lang == sandbox.LangPython {
		return fmt.Sprintf(`
import time
from servers.filesystem import read_file, write_file
text = (%q * (%d // %d))
result = {"up": [], "down": []}
for i in range(%d):
    start = time.perf_counter()
    write_file(path="bench/big.txt", content=text)
    result["up"].append((time.perf_counter() - start) * 1e3)
    start = time.perf_counter()
    got = read_file(path="bench/big.txt")
    result["down"].append((time.perf_counter() - start) * 1e3)
    assert got["content"] == text
`, bigLine, bigSize, len(bigLine), bigRuns)
	}
	return fmt.Sprintf(`
import { readFile, writeFile } from "./servers/filesystem";
const text = %q.repeat(Math.floor(%d / %d));
const up: number[] = [], down: number[] = [];
for (let i = 0; i < %d; i++) {
  let start = performance.now();
  await writeFile({ path: "bench/big.txt", content: text });
  up.push(performance.now() - start);
  start = performance.now();
  const got = await readFile({ path: "bench/big.txt" });
  down.push(performance.now() - start);
  if (got.content !== text) throw new Error("it came back changed");
}
export const result = { up, down };
`, bigLine, bigSize, len(bigLine), bigRuns)
}

// bigValues measures arguments and results of 10 MB, beside the same calls made with the SDK alone.
func (b *bench) bigValues(ctx context.Context) error {
	const up, down = "10 MB as an argument, directly with go-sdk", "10 MB as a result, directly with go-sdk"
	text := strings.Repeat(bigLine, bigSize/len(bigLine))
	var direct struct{ Up, Down []float64 }
	err := b.session(ctx, "filesystem", func(s *mcp.ClientSession) error {
		for range bigRuns {
			for _, m := range []struct {
				name    string
				args    map[string]any
				samples *[]float64
			}{
				{"write_file", map[string]any{"path": "bench/big.txt", "content": text}, &direct.Up},
				{"read_file", map[string]any{"path": "bench/big.txt"}, &direct.Down},
			} {
				start := time.Now()
				res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: m.name, Arguments: m.args})
				if err != nil {
					return err
				}
				if res.IsError {
					return fmt.Errorf("%s answered with an error", m.name)
				}
				*m.samples = append(*m.samples, millis(time.Since(start)))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.table.add(up, "ms", "", direct.Up)
	b.table.add(down, "ms", "", direct.Down)
	return b.each(func(be sandbox.Backend, lang sandbox.Language) error {
		var samples struct{ Up, Down []float64 }
		if err := b.run(ctx, be, lang, bigCalls(lang), nil, &samples); err != nil {
			return err
		}
		b.table.add(fmt.Sprintf("10 MB as an argument, %s %s", be.Name(), lang), "ms", up, samples.Up)
		b.table.add(fmt.Sprintf("10 MB as a result, %s %s", be.Name(), lang), "ms", down, samples.Down)
		return nil
	})
}
