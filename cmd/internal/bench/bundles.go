package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
)

const (
	bundleRuns    = 30
	bundleTools   = 2_000
	bundleImports = 20
)

// bundles measures how long a script with 20 imports takes to become one module, in a tree of 2,000 tools: with nothing
// kept, with what was kept of other scripts, and when the same script comes again.
func (b *bench) bundles(ctx context.Context) error {
	servers, err := b.lists()
	if err != nil {
		return err
	}
	dir, err := b.stored(repeat(servers, bundleTools))
	if err != nil {
		return err
	}
	if _, err := gen.Sync(ctx, gen.Options{Dir: dir, Offline: true}); err != nil {
		return err
	}
	tree := filepath.Join(dir, "servers")
	code, err := twentyImports(tree)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("bundle a script with %d imports, tree of %d tools", bundleImports, bundleTools)
	kept := script.NewCache(0)
	for _, m := range []struct {
		name  string
		cache func() *script.Cache
		code  func(i int) string
	}{
		{name, func() *script.Cache { return script.NewCache(0) }, func(i int) string { return code + fmt.Sprintf("// %d\n", i) }},
		{name + ", after others", func() *script.Cache { return kept }, func(i int) string { return code + fmt.Sprintf("// %d\n", i) }},
		{name + ", the same again", func() *script.Cache { return kept }, func(int) string { return code }},
	} {
		var samples []float64
		for i := range bundleRuns + 1 {
			start := time.Now()
			_, err := m.cache().Prepare(ctx, script.Source{Name: "bench.ts", Code: m.code(i), Language: sandbox.LangTypeScript},
				script.Options{Runtime: sandbox.Node, Tree: tree})
			if err != nil {
				return err
			}
			if i > 0 {
				samples = append(samples, millis(time.Since(start)))
			}
		}
		baseline := name
		if m.name == name {
			baseline = ""
		}
		b.table.add(m.name, "ms", baseline, samples)
	}
	return nil
}

// twentyImports writes a script that imports one function of each of 20 servers of a tree.
func twentyImports(tree string) (string, error) {
	files, err := filepath.Glob(filepath.Join(tree, "*", "*.ts"))
	if err != nil {
		return "", err
	}
	var imports, uses strings.Builder
	seen := map[string]bool{}
	for _, file := range files {
		server, name := filepath.Base(filepath.Dir(file)), strings.TrimSuffix(filepath.Base(file), ".ts")
		if name == "index" || seen[server] || len(seen) == bundleImports {
			continue
		}
		if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "export async function "+name+"(") {
			continue // its function has another name
		}
		fmt.Fprintf(&imports, "import { %s as f%d } from \"./servers/%s\";\n", name, len(seen), server)
		fmt.Fprintf(&uses, "console.log(typeof f%d);\n", len(seen))
		seen[server] = true
	}
	if len(seen) < bundleImports {
		return "", fmt.Errorf("the tree has %d servers with functions, not %d", len(seen), bundleImports)
	}
	return imports.String() + uses.String(), nil
}
