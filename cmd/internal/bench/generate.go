package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/schema"
	"github.com/mcpgen/mcpgen/gen/verify"
)

const generateRuns = 7

// lists reads recorded tool lists: those beside the repository where they are, else the golden ones.
func (b *bench) lists() ([]catalog.Server, error) {
	paths, err := filepath.Glob(filepath.Join(b.root, "..", "shared", "corpus", "*.json"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		b.skipped = append(b.skipped, "recorded lists of public servers: they are not beside the repository; the golden ones were used")
		if paths, err = filepath.Glob(filepath.Join(b.root, "testdata", "golden", "*.json")); err != nil {
			return nil, err
		}
	}
	var servers []catalog.Server
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var file struct {
			ID    string            `json:"id"`
			Tools []json.RawMessage `json:"tools"`
		}
		if err := json.Unmarshal(raw, &file); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		server, _ := catalog.NewServer(file.ID, "", "", file.Tools)
		servers = append(servers, server)
	}
	c, err := catalog.New(servers)
	if err != nil {
		return nil, err
	}
	return c.Servers, nil
}

// generate measures turning recorded tool lists into wrappers in both languages, verified, beside
// json-schema-to-typescript on the same input schemas.
func (b *bench) generate(ctx context.Context) error {
	servers, err := b.lists()
	if err != nil {
		return err
	}
	var inputs []json.RawMessage
	for _, s := range servers {
		for _, t := range s.Tools {
			inputs = append(inputs, t.Input)
		}
	}
	for _, format := range []string{"", "1"} {
		samples, failed, err := peer(ctx, b.root, inputs, format)
		if err != nil {
			return err
		}
		name := peerName
		if format != "" {
			name += ", formatted"
		}
		b.table.add(name, "µs/tool", "", samples)
		if failed > 0 {
			b.skipped = append(b.skipped, fmt.Sprintf("%s: it threw on %d of %d schemas", name, failed, len(inputs)))
		}
	}
	for _, languages := range [][]render.Target{{render.TypeScript()}, {render.TypeScript(), render.Python()}} {
		var samples []float64
		for range generateRuns {
			start := time.Now()
			if err := generateOnce(servers, languages); err != nil {
				return err
			}
			samples = append(samples, micros(time.Since(start))/float64(len(inputs)))
		}
		name := "generate and verify TypeScript"
		if len(languages) > 1 {
			name += " and Python"
		}
		b.table.add(fmt.Sprintf("%s, %d tools", name, len(inputs)), "µs/tool", peerName, samples)
	}
	return nil
}

const peerName = "json-schema-to-typescript"

// peer returns the time of each schema that the peer converts, and how many it does not.
func peer(ctx context.Context, root string, schemas []json.RawMessage, format string) ([]float64, int, error) {
	input, err := json.Marshal(schemas)
	if err != nil {
		return nil, 0, err
	}
	cmd := exec.CommandContext(ctx, "node", filepath.Join(root, "cmd/internal/bench/peer/json-schema-to-typescript.mjs"), filepath.Join(root, "testdata/npm/package.json"))
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	cmd.Env = append(os.Environ(), "FORMAT="+format)
	raw, err := cmd.Output()
	if err != nil {
		return nil, 0, fmt.Errorf("run %s: %w", peerName, err)
	}
	var results []*struct{ Micros float64 }
	if err := json.Unmarshal(raw, &results); err != nil {
		return nil, 0, err
	}
	var samples []float64
	for _, r := range results {
		if r != nil {
			samples = append(samples, r.Micros)
		}
	}
	return samples, len(results) - len(samples), nil
}

// generateOnce is the whole way from raw schemas to verified files, in memory.
func generateOnce(servers []catalog.Server, targets []render.Target) error {
	out := make([]render.Server, len(servers))
	for i, s := range servers {
		out[i] = render.Server{Key: s.Key, Dir: ident.Snake(s.Key)}
		for _, t := range s.Tools {
			rt := render.Tool{ID: t.ID, Name: t.Name, Title: t.Title, Description: t.Description, Hints: render.Hints(t.Hints), Definition: t.Raw}
			rt.Input, _ = schema.Convert(t.Input)
			if t.Output != nil {
				output, _ := schema.Convert(t.Output)
				rt.Output = &output
			}
			out[i].Tools = append(out[i].Tools, rt)
		}
	}
	result, err := render.Render(out, targets)
	if err != nil {
		return err
	}
	return verifyAll(result)
}

// verifyAll reads every wrapper back, as a sync does before it writes.
func verifyAll(result *render.Result) error {
	for language, byID := range result.Names {
		for id, name := range byID {
			want := verify.Wrapper{ID: id, Function: name.Function}
			check := want.TypeScript
			if language == "python" {
				check = want.Python
			}
			if err := check(result.Tree[name.File]); err != nil {
				return fmt.Errorf("%s: %w", name.File, err)
			}
		}
	}
	return nil
}
