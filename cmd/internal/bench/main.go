// Command bench measures the whole path, from a server's list of tools to files and from a script's source to a
// server's answer, in every sandbox that works on this machine, each figure beside a named baseline of the same run. It
// prints a table; with BENCH_JSON=FILE it writes one JSON object a line as well.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
)

func main() {
	backends.RunChild() // never returns in a child
	runMeasured()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, os.Getenv("BENCH_JSON"))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, jsonFile string) error {
	b, err := newBench(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	for _, step := range []func(context.Context) error{b.coldStarts, b.bridgeCalls, b.parallelCalls, b.bundle, b.syncs, b.generate, b.trees, b.wrappers, b.tokenUse} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if err := b.table.print(out); err != nil {
		return err
	}
	for _, line := range b.skipped {
		fmt.Fprintln(out, "not measured:", line)
	}
	if jsonFile == "" {
		return nil
	}
	f, err := os.Create(jsonFile)
	if err != nil {
		return err
	}
	if err := b.table.json(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
