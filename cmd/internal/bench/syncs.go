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
	// slowStart is how long each of the many servers waits before it starts: what a server spends on its own start is
	// mostly waiting, and a bench of fifty starts that need the processor would measure the machine.
	slowStart = 500 * time.Millisecond
)

// syncs measures whole syncs of stdio servers, each beside the sync of one of them alone: the six demo servers, fifty
// that are as quick as can be, and fifty that take half a second to start.
func (b *bench) syncs(ctx context.Context) error {
	quick := map[string][]string{}
	slow := map[string][]string{}
	program := filepath.Join(b.root, "bin", "mcpdemo")
	demos := []string{"calculator", "weather", "filesystem", "database", "drive", "crm"}
	for i := range manyServers {
		name := fmt.Sprintf("s%02d", i)
		quick[name] = []string{program, demos[i%len(demos)]}
		slow[name] = []string{"sh", "-c", fmt.Sprintf(`sleep %g; exec "$@"`, slowStart.Seconds()), "sh", program, demos[i%len(demos)]}
	}
	six := map[string][]string{}
	for _, demo := range demos {
		six[demo] = []string{program, demo}
	}
	for _, m := range []struct {
		alone, all string
		servers    map[string][]string
		slowest    string
	}{
		{"sync database, the slowest demo server, alone", "sync the six demo servers", six, "database"},
		{"sync one quick server alone", fmt.Sprintf("sync %d quick servers", manyServers), quick, "s03"},
		{"sync one server that starts in 0.5 s alone", fmt.Sprintf("sync %d servers that start in 0.5 s", manyServers), slow, "s03"},
	} {
		alone, err := b.sync(ctx, map[string][]string{m.slowest: m.servers[m.slowest]})
		if err != nil {
			return err
		}
		all, err := b.sync(ctx, m.servers)
		if err != nil {
			return err
		}
		b.table.add(m.alone, "ms", "", alone)
		b.table.add(m.all, "ms", m.alone, all)
	}
	return nil
}

// sync measures syncs of servers, given by their commands, into a new tree each time.
func (b *bench) sync(ctx context.Context, servers map[string][]string) ([]float64, error) {
	var samples []float64
	for range parallelRuns {
		took, err := syncOnce(ctx, servers)
		if err != nil {
			return nil, err
		}
		samples = append(samples, millis(took))
	}
	return samples, nil
}

func syncOnce(ctx context.Context, servers map[string][]string) (time.Duration, error) {
	dir, err := os.MkdirTemp("", "mcpgen-bench-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	entries := map[string]any{}
	for name, command := range servers {
		entries[name] = map[string]any{"command": command[0], "args": command[1:]}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err != nil {
		return 0, err
	}
	path := filepath.Join(dir, gen.ConfigName)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return 0, err
	}
	start := time.Now()
	report, err := gen.Sync(ctx, gen.Options{
		Configs: []string{path}, Dir: dir, Lister: gen.UpstreamLister(gen.UpstreamOptions{LookupEnv: os.LookupEnv}),
	})
	if err != nil {
		return 0, err
	}
	for _, failed := range report.Failures() {
		return 0, fmt.Errorf("sync %s: %w", failed.Key, failed.Err)
	}
	return time.Since(start), nil
}
