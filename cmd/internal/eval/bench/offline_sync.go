package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
)

const (
	offlineRuns = 3
	// manyTools is the number of tools in the largest tree.
	manyTools = 10_000
)

// offlineSyncs measures the whole program on recorded tool lists: the time to write all files from the lists that a tree stores,
// and the time to find that nothing has changed.
func (b *bench) offlineSyncs(ctx context.Context) error {
	servers, err := b.lists()
	if err != nil {
		return err
	}
	if err := b.offlineSync(ctx, servers); err != nil {
		return err
	}
	return b.offlineSync(ctx, repeat(servers, manyTools))
}

func (b *bench) offlineSync(ctx context.Context, servers []catalog.Server) error {
	tools := 0
	for _, s := range servers {
		tools += len(s.Tools)
	}
	var written, unchanged []float64
	for range offlineRuns {
		dir, err := b.stored(servers)
		if err != nil {
			return err
		}
		for _, samples := range []*[]float64{&written, &unchanged} {
			cmd := exec.CommandContext(ctx, filepath.Join(b.root, "bin", "mcpgen"), "sync", "--offline")
			cmd.Dir = dir
			began := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("run mcpgen sync: %w\n%s", err, out)
			}
			*samples = append(*samples, millis(time.Since(began)))
		}
	}
	name := fmt.Sprintf("mcpgen sync --offline, %d tools", tools)
	b.table.add(name+", all files new", "ms", "", written)
	b.table.add(name+", nothing to write", "ms", name+", all files new", unchanged)
	return nil
}

// stored creates a project with a configuration that names the servers, and a tree that has only their lists.
func (b *bench) stored(servers []catalog.Server) (string, error) {
	dir, err := b.folder()
	if err != nil {
		return "", err
	}
	commands := map[string][]string{}
	for _, s := range servers {
		commands[s.Key] = []string{"true"}
		list, err := catalog.MarshalServer(&s)
		if err != nil {
			return "", err
		}
		path := filepath.Join(dir, "servers", filepath.FromSlash(catalog.StoredPath(s.Dir)))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, list, 0o644); err != nil {
			return "", err
		}
	}
	return dir, configure(dir, commands)
}

// repeat returns copies of the servers under other names, until they have that many tools in total.
func repeat(servers []catalog.Server, tools int) []catalog.Server {
	var out []catalog.Server
	for round, n := 0, 0; n < tools; round++ {
		for _, s := range servers {
			s.Tools = s.Tools[:min(len(s.Tools), tools-n)]
			s.Key, s.Dir = fmt.Sprintf("%s-%d", s.Key, round), fmt.Sprintf("%s_%d", s.Dir, round)
			if n += len(s.Tools); len(s.Tools) > 0 {
				out = append(out, s)
			}
		}
	}
	return out
}
