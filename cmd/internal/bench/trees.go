package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/catalog"
)

const (
	treeRuns = 3
	// manyTools is how many tools the largest tree has.
	manyTools = 10_000
)

// trees measures the whole program on recorded tool lists: what it costs in time and memory to make all files from what
// a tree has stored, and to find out that nothing is to be done.
func (b *bench) trees(ctx context.Context) error {
	servers, err := b.lists()
	if err != nil {
		return err
	}
	b.table.add(peerName+", memory at most", "MiB", "", []float64{b.peerMemory})
	if err := b.tree(ctx, servers); err != nil {
		return err
	}
	return b.tree(ctx, repeat(servers, manyTools))
}

func (b *bench) tree(ctx context.Context, servers []catalog.Server) error {
	tools := 0
	for _, s := range servers {
		tools += len(s.Tools)
	}
	var written, unchanged, memory []float64
	for range treeRuns {
		dir, err := b.stored(servers)
		if err != nil {
			return err
		}
		for _, samples := range []*[]float64{&written, &unchanged} {
			cmd := exec.CommandContext(ctx, filepath.Join(b.root, "bin", "mcpgen"), "sync", "--offline")
			cmd.Dir = dir
			used, err := measure(cmd)
			if err != nil {
				return err
			}
			*samples = append(*samples, millis(used.Took))
			memory = append(memory, used.Memory)
		}
	}
	name := fmt.Sprintf("mcpgen sync --offline, %d tools", tools)
	b.table.add(name+", all files new", "ms", "", written)
	b.table.add(name+", nothing to write", "ms", name+", all files new", unchanged)
	b.table.add(name+", memory at most", "MiB", peerName+", memory at most", memory)
	return nil
}

// stored makes a tree that has nothing but the lists of the servers, and the configuration that names them.
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

// repeat returns the servers again and again under other names, until they have that many tools.
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

// wrappers counts what the wrappers of recorded tools cost a model, each beside the definition it stands for.
func (b *bench) wrappers(ctx context.Context) error {
	servers, err := b.lists()
	if err != nil {
		return err
	}
	dir, err := b.stored(servers)
	if err != nil {
		return err
	}
	if _, err := gen.Sync(ctx, gen.Options{Dir: dir, Offline: true}); err != nil {
		return err
	}
	tree, err := gen.Open(gen.Options{Dir: dir})
	if err != nil {
		return err
	}
	const indented, compact = "definition of a tool as indented JSON", "definition of a tool as compact JSON"
	for i, language := range []string{"typescript", "python"} {
		cost, err := tree.Cost(language)
		if err != nil {
			return err
		}
		var wrapper, wide, narrow []float64
		for _, s := range cost.Servers {
			for _, t := range s.Tools {
				wrapper, wide, narrow = append(wrapper, float64(t.Wrapper)), append(wide, float64(t.Indented)), append(narrow, float64(t.Raw))
			}
		}
		if i == 0 {
			b.table.add(indented, "tokens", "", wide)
			b.table.add(compact, "tokens", "", narrow)
		}
		b.table.addPaired("wrapper of a tool in "+language, "tokens", indented, wrapper, wide)
		b.table.addPaired("wrapper of a tool in "+language, "tokens", compact, wrapper, narrow)
	}
	return nil
}
