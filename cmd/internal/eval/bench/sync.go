package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/config"
)

const (
	syncRuns    = 7
	manyServers = 50
	// slowStart is how long each of the many servers waits before it answers.
	slowStart = 500 * time.Millisecond
)

// syncs measures whole syncs into an empty folder: of many stdio servers at once, beside a sync of one of them. The servers do
// nothing but wait before they answer, because most of a real server's start is waiting.
func (b *bench) syncs(ctx context.Context) error {
	waiting, err := b.waiting()
	if err != nil {
		return err
	}
	const one = "sync one server that starts in 0.5 s"
	for _, m := range []struct {
		name, baseline string
		servers        int
	}{{one, "", 1}, {fmt.Sprintf("sync %d servers that start in 0.5 s", manyServers), one, manyServers}} {
		samples, err := b.sync(ctx, m.servers, waiting)
		if err != nil {
			return err
		}
		b.table.add(m.name, "ms", m.baseline, samples)
	}
	return nil
}

// waiting returns the commands of servers that wait and then list the tools of the demo servers.
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
	if err := os.WriteFile(program, []byte(readScript("waiting_server.sh")), 0o600); err != nil {
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
	return func(i int) []string {
		return []string{"sh", program, files[i%len(files)], fmt.Sprint(slowStart.Seconds())}
	}, nil
}

// sync measures syncs of n servers, given by their commands, into a new tree each time.
func (b *bench) sync(ctx context.Context, n int, command func(i int) []string) ([]float64, error) {
	servers := map[string][]string{}
	for i := range n {
		servers[fmt.Sprintf("s%02d", i)] = command(i)
	}
	var samples []float64
	for range syncRuns {
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

// configure writes the configuration of servers, given by their commands, into a folder.
func configure(dir string, servers map[string][]string) error {
	entries := map[string]any{}
	for name, command := range servers {
		entries[name] = map[string]any{"command": command[0], "args": command[1:]}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, config.FileName), text, 0o600)
}
