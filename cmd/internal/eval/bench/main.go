// Command bench measures the whole path, from a server's list of tools to files and from a script's source to a server's answer,
// in every sandbox that works on this machine, cold and warm. Each figure stands beside a named baseline of the same run. Bench
// prints a table, and its progress on stderr; with BENCH_JSON=FILE it also writes one JSON object per line. BENCH_ONLY names the
// groups to measure, and BENCH_SANDBOXES the sandboxes, separated by commas. BENCH_EMBEDDINGS names a model for embeddings, which
// the group search then measures too. BENCH_EMBEDDINGS_URL and BENCH_EMBEDDINGS_KEY are its endpoint and key. BENCH_PACKAGES names a folder
// for the group packages.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
)

func main() {
	backends.RunChild() // never returns in a child
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, os.Stderr, os.Getenv)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// group is a set of measurements that can be made alone.
type group struct {
	name  string
	steps []func(context.Context) error
}

func (b *bench) groups() []group {
	return []group{
		{"starts", []func(context.Context) error{b.coldStarts, b.warmStarts}},
		{"idle", []func(context.Context) error{b.idle}},
		{"packages", []func(context.Context) error{b.installed}},
		{"many", []func(context.Context) error{b.parallel}},
		{"calls", []func(context.Context) error{b.sequentialCalls, b.concurrentCalls}},
		{"record", []func(context.Context) error{b.recording}},
		{"commands", []func(context.Context) error{b.commands}},
		{"checks", []func(context.Context) error{b.checks}},
		{"masks", []func(context.Context) error{b.masking}},
		{"learn", []func(context.Context) error{b.learning}},
		{"sync", []func(context.Context) error{b.syncs}},
		{"generate", []func(context.Context) error{b.generate, b.offlineSyncs}},
		{"search", []func(context.Context) error{b.searches}},
	}
}

// measureGroups measures the wanted groups, or all. A group ends at its first error, and the others go on; the returned
// error names each group that failed.
func measureGroups(ctx context.Context, groups []group, wanted []string) error {
	var names []string
	for _, g := range groups {
		names = append(names, g.name)
	}
	for _, w := range wanted {
		if !slices.Contains(names, w) {
			return fmt.Errorf("BENCH_ONLY: no group is called %q; there are %s", w, strings.Join(names, ", "))
		}
	}
	var failed error
	for _, g := range groups {
		if len(wanted) > 0 && !slices.Contains(wanted, g.name) {
			continue
		}
		for _, step := range g.steps {
			if err := step(ctx); err != nil {
				failed = errors.Join(failed, fmt.Errorf("the group %s failed: %w", g.name, err))
				break
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return failed
}

// list splits names at commas and spaces.
func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// run measures the groups that BENCH_ONLY names in the sandboxes that BENCH_SANDBOXES names. Empty means all.
func run(ctx context.Context, out, progress io.Writer, env func(string) string) error {
	b, err := newBench(ctx, list(env("BENCH_SANDBOXES")))
	if err != nil {
		return err
	}
	defer b.Close()
	b.table.progress = progress
	b.env = env
	failed := measureGroups(ctx, b.groups(), list(env("BENCH_ONLY")))
	if err := errors.Join(b.table.print(out), b.writeJSON(env("BENCH_JSON"))); err != nil {
		return errors.Join(failed, err)
	}
	for _, line := range b.skipped {
		fmt.Fprintln(out, "not measured:", line)
	}
	return failed
}

// writeJSON writes the rows to a file, unless its name is empty.
func (b *bench) writeJSON(jsonFile string) error {
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
