package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/render/python"
	"github.com/mcpgen/mcpgen/gen/render/typescript"
	"github.com/mcpgen/mcpgen/gen/schema"
	"github.com/mcpgen/mcpgen/gen/search/searchtest"
	"github.com/mcpgen/mcpgen/gen/verify"
)

const generateRuns = 7

// lists reads recorded tool lists: those beside the repository if they exist, else the golden ones.
func (b *bench) lists() ([]catalog.Server, error) {
	paths, err := filepath.Glob(filepath.Join(b.root, "..", "shared", "corpus", "*.json"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		b.skip("recorded lists of public servers: they are not beside the repository; the golden ones were used")
		if paths, err = filepath.Glob(filepath.Join(b.root, "testdata", "golden", "*.json")); err != nil {
			return nil, err
		}
	}
	lists, err := searchtest.ReadLists(paths)
	if err != nil {
		return nil, err
	}
	servers := make([]catalog.Server, len(lists))
	for i, l := range lists {
		servers[i] = l.Server()
	}
	c, err := catalog.New(servers)
	if err != nil {
		return nil, err
	}
	return c.Servers, nil
}

// generate measures generating and verifying wrappers from recorded tool lists, beside json-schema-to-typescript on the same
// input schemas. json-schema-to-typescript makes one type per schema, and uses one processor.
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
	samples, err := b.peer(ctx, inputs)
	if err != nil {
		return err
	}
	b.table.add(peerName, "µs/tool", "", samples)
	typeScript, both := []*render.Language{typescript.Language()}, []*render.Language{typescript.Language(), python.Language()}
	for _, m := range []struct {
		name       string
		languages  []*render.Language
		processors int
	}{
		{"generate and verify TypeScript, one processor", typeScript, 1},
		{"generate and verify TypeScript and Python, one processor", both, 1},
		{fmt.Sprintf("generate and verify TypeScript and Python, %d processors", runtime.GOMAXPROCS(0)), both, runtime.GOMAXPROCS(0)},
	} {
		before := runtime.GOMAXPROCS(m.processors)
		samples, err := generateTimes(servers, m.languages, len(inputs))
		runtime.GOMAXPROCS(before)
		if err != nil {
			return err
		}
		b.table.add(m.name, "µs/tool", peerName, samples)
	}
	return nil
}

// generateTimes returns the average time per tool of each run, in microseconds, after a warm-up run.
func generateTimes(servers []catalog.Server, languages []*render.Language, tools int) ([]float64, error) {
	perTool := func(took time.Duration) float64 { return micros(took) / float64(tools) }
	return sample(1, generateRuns, perTool, func(int) error { return generateOnce(servers, languages) })
}

const peerName = "json-schema-to-typescript"

// peer returns, for each run, the average time per schema that json-schema-to-typescript takes without formatting.
func (b *bench) peer(ctx context.Context, schemas []json.RawMessage) (samples []float64, err error) {
	input, err := json.Marshal(schemas)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "node", filepath.Join(b.root, "cmd/internal/eval/bench/peer/json-schema-to-typescript.mjs"), filepath.Join(b.root, "testdata/npm/package.json"))
	cmd.Stdin, cmd.Stderr, cmd.Env = bytes.NewReader(input), os.Stderr, append(os.Environ(), fmt.Sprintf("RUNS=%d", generateRuns))
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", peerName, err)
	}
	var results []struct {
		Micros float64
		Threw  int
	}
	if err := json.Unmarshal(out, &results); err != nil {
		return nil, err
	}
	for _, r := range results {
		samples = append(samples, r.Micros/float64(len(schemas)))
		if r.Threw > 0 {
			b.skip(fmt.Sprintf("%s: it threw on %d of %d schemas", peerName, r.Threw, len(schemas)))
		}
	}
	return samples, nil
}

// generateOnce converts, renders and verifies, in memory.
func generateOnce(servers []catalog.Server, targets []*render.Language) error {
	out := make([]render.Server, len(servers))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, s := range servers {
		group.Go(func() error {
			out[i] = convert(s)
			return nil
		})
	}
	_ = group.Wait() // none fails
	result, err := render.Render(out, targets)
	if err != nil {
		return err
	}
	return verifyAll(result)
}

func convert(s catalog.Server) render.Server {
	out := render.Server{Key: s.Key, Dir: ident.Snake(s.Key)}
	for _, t := range s.Tools {
		rt := render.Tool{ID: t.ID, Name: t.Name, Title: t.Title, Description: t.Description, Hints: render.Hints(t.Hints)}
		rt.Input, _ = schema.Convert(t.Input)
		if t.Output != nil {
			output, _ := schema.Convert(t.Output)
			rt.Output = &output
		}
		out.Tools = append(out.Tools, rt)
	}
	return out
}

// verifyAll verifies every wrapper, as a sync does before it writes.
func verifyAll(result *render.Result) error {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for language, byID := range result.Names {
		for ids := range slices.Chunk(slices.Collect(maps.Keys(byID)), 64) {
			group.Go(func() error {
				for _, id := range ids {
					name := byID[id]
					want := verify.Wrapper{ID: id, Function: name.Function}
					check := want.TypeScript
					if language == "python" {
						check = want.Python
					}
					if err := check(result.Tree[name.File]); err != nil {
						return fmt.Errorf("%s: %w", name.File, err)
					}
				}
				return nil
			})
		}
	}
	return group.Wait()
}
