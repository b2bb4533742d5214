package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpgen/mcpgen/gen"
)

const (
	manyServers = 50
	// slowStart is how long each of the many servers waits before it answers.
	slowStart = 500 * time.Millisecond
)

// syncs measures whole syncs of stdio servers into an empty folder, each beside the sync of the slowest of them alone:
// the six demo servers, fifty of them, which keep the processors busy with their own start, and fifty that do nothing but
// wait before they answer, as most of a server's start is.
func (b *bench) syncs(ctx context.Context) error {
	demos := []string{"calculator", "weather", "filesystem", "database", "drive", "crm"}
	demo := func(i int) []string { return []string{filepath.Join(b.root, "bin", "mcpdemo"), demos[i%len(demos)]} }
	var slowest []float64
	for i := range demos {
		alone, err := b.sync(ctx, 1, func(int) []string { return demo(i) })
		if err != nil {
			return err
		}
		if quantile(alone, 0.5) > quantile(slowest, 0.5) {
			slowest = alone
		}
	}
	waiting, err := b.waiting()
	if err != nil {
		return err
	}
	alone, err := b.sync(ctx, 1, waiting)
	if err != nil {
		return err
	}
	const slowestDemo, oneWaiting = "sync the slowest demo server alone", "sync one server that starts in 0.5 s"
	b.table.add(slowestDemo, "ms", "", slowest)
	for _, m := range []struct {
		name, baseline string
		servers        int
		command        func(i int) []string
	}{
		{"sync the six demo servers", slowestDemo, len(demos), demo},
		{fmt.Sprintf("sync %d demo servers", manyServers), slowestDemo, manyServers, demo},
		{fmt.Sprintf("sync %d servers that start in 0.5 s", manyServers), oneWaiting, manyServers, waiting},
	} {
		if m.baseline == oneWaiting {
			b.table.add(oneWaiting, "ms", "", alone)
		}
		samples, err := b.sync(ctx, m.servers, m.command)
		if err != nil {
			return err
		}
		b.table.add(m.name, "ms", m.baseline, samples)
	}
	return nil
}

// waitingServer answers what a sync asks, after a while, with a list of tools from the file of its first argument. It is a
// server of the older protocol era.
var waitingServer = fmt.Sprintf(`sleep %g
while read -r line; do
  id=${line#*'"id":'} id=${id%%%%,*}
  case $line in
  *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"waiting","version":"1"}}}' ;;
  *'"tools/list"'*) printf %%s '{"jsonrpc":"2.0","id":'$id',"result":'; cat "$1"; echo '}' ;;
  *'"id":'*) echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"method not found"}}' ;;
  esac
done`, slowStart.Seconds())

// waiting returns the commands of servers that list what the demo servers do.
func (b *bench) waiting() (func(i int) []string, error) {
	dir, err := b.folder()
	if err != nil {
		return nil, err
	}
	tree, err := gen.Open(gen.Options{Dir: b.root})
	if err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "server.sh")
	if err := os.WriteFile(program, []byte(waitingServer), 0o600); err != nil {
		return nil, err
	}
	var files []string
	for _, s := range tree.Catalog.Servers {
		var tools []json.RawMessage
		for _, t := range s.Tools {
			tools = append(tools, t.Raw)
		}
		text, err := json.Marshal(map[string]any{"tools": tools})
		if err != nil {
			return nil, err
		}
		files = append(files, filepath.Join(dir, s.Dir+".json"))
		if err := os.WriteFile(files[len(files)-1], text, 0o600); err != nil {
			return nil, err
		}
	}
	return func(i int) []string { return []string{"sh", program, files[i%len(files)]} }, nil
}

// sync measures syncs of so many servers, given by their commands, into a new tree each time.
func (b *bench) sync(ctx context.Context, n int, command func(i int) []string) ([]float64, error) {
	servers := map[string][]string{}
	for i := range n {
		servers[fmt.Sprintf("s%02d", i)] = command(i)
	}
	var samples []float64
	for range parallelRuns {
		took, err := b.syncOnce(ctx, servers)
		if err != nil {
			return nil, err
		}
		samples = append(samples, millis(took))
	}
	return samples, nil
}

func (b *bench) syncOnce(ctx context.Context, servers map[string][]string) (time.Duration, error) {
	dir, err := b.folder()
	if err != nil {
		return 0, err
	}
	if err := configure(dir, servers); err != nil {
		return 0, err
	}
	start := time.Now()
	report, err := gen.Sync(ctx, gen.Options{Dir: dir, Lister: gen.UpstreamLister(gen.UpstreamOptions{LookupEnv: os.LookupEnv})})
	if err != nil {
		return 0, err
	}
	for _, failed := range report.Failures() {
		return 0, fmt.Errorf("sync %s: %w", failed.Key, failed.Err)
	}
	return time.Since(start), nil
}

// configure writes the configuration of servers that are given by their commands.
func configure(dir string, servers map[string][]string) error {
	entries := map[string]any{}
	for name, command := range servers {
		entries[name] = map[string]any{"command": command[0], "args": command[1:]}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, gen.ConfigName), text, 0o600)
}
