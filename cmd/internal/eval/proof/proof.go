package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/config/guide"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// way is how a task is done.
type way string

const (
	byCalls  way = "direct"             // calls, with every definition in the context
	bySearch way = "search"             // search with the same listing, then call
	byScript way = "code"               // scripts, found as the paragraph in AGENTS.md says
	byReadme way = "code, README first" // scripts, found by the tree's README and indexes
	byServe  way = "mcprun serve"       // call_tool for one call, else execute_code
)

// ways returns the ways in which every task is done, direct calls first.
func ways() []way { return []way{byCalls, bySearch, byScript, byReadme, byServe} }

// measured is the cost of one task done in one way with one catalog.
type measured struct {
	Task string
	Kind kind
	Way  way
	// Tools is the number of tools in the catalog.
	Tools int
	// In and Out count each text once. Definitions is the part of In at the beginning of the context.
	In          int
	Out         int
	Definitions int
	// Instructions is the part of Definitions that is servers' instructions.
	Instructions int
	// Billed is In as an API bills it, where each turn reads the whole context. Cached is the same with a cache, in tokens at the
	// full price.
	Billed int
	Cached float64
	// Calls counts calls of tools, by the model or by its scripts. Turns counts turns of the model.
	Calls int
	Turns int
	MS    float64
}

// Read returns the number of tokens that the model reads or writes, each text once.
func (m measured) Read() int { return m.In + m.Out }

// options define what is measured.
type options struct {
	root     string // the repository
	mcpdemo  string // the program of the demo servers
	mcprun   string // the program whose serve is measured; empty if there is none
	catalogs string // a folder of recorded tool lists
	sizes    []int  // of catalogs; 0: all
	tasks    []task
	ways     []way
	typed    sandbox.Backend // runs TypeScript
	progress io.Writer
}

// proof is one run of the command: its settings, the initial data, and what was measured.
type proof struct {
	options
	temp   string
	seed   string // the initial data of the servers
	before *world
	data   state // the initial data
	count  *counter
	demo   *catalog.Catalog
	lists  []catalog.Server
	out    []measured
	made   []int // the sizes of the catalogs generated so far
	forms  []forms
	fixed  []fixed
}

// prove does all tasks in all ways with all catalogs. It returns an error for the first task that is not done right.
func prove(ctx context.Context, o options) (p *proof, err error) {
	temp, err := os.MkdirTemp("", "mcpgen-proof-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	p = &proof{options: o, temp: temp, count: newCounter()}
	if p.demo, _, err = catalog.LoadTree(filepath.Join(o.root, "servers")); err != nil {
		return nil, err
	}
	if p.lists, err = recorded(o.catalogs); err != nil {
		return nil, err
	}
	p.seed = filepath.Join(p.temp, "seed")
	if err := seed(ctx, o.mcpdemo, p.seed); err != nil {
		return nil, err
	}
	pristine := filepath.Join(p.temp, "before")
	if err := copyTree(pristine, p.seed); err != nil {
		return nil, err
	}
	before := newWorld(o.mcpdemo, pristine)
	defer func() { err = errors.Join(err, before.Close()) }()
	p.before = before
	if p.data, err = stateOf(ctx, p.seed); err != nil {
		return nil, err
	}
	for _, size := range o.sizes {
		if err := p.size(ctx, size); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// chosen returns the tasks with these names, or all if there are none.
func chosen(names []string) ([]task, error) {
	all := tasks()
	if len(names) == 0 {
		return all, nil
	}
	var out []task
	for _, name := range names {
		i := slices.IndexFunc(all, func(t task) bool { return t.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no task is called %q", name)
		}
		out = append(out, all[i])
	}
	return out, nil
}

// project is a generated tree, with what is needed to do tasks with it.
type project struct {
	dir       string
	tree      *gen.Tree
	finder    *finder
	runner    *runner.Runner
	upstreams *currentPool
	forms
	// instructions is the number of tokens in all servers' instructions, which hosts show to the model.
	instructions int
}

// forms counts the tools of a catalog, and their tokens as definitions, as signatures and as wrappers.
type forms struct{ tools, definitions, signatures, wrappers int }

// currentPool is the pool of the demo servers of the current task. It is replaced for each task.
type currentPool struct{ *upstream.Pool }

// size does all tasks with a catalog of that many tools, or with all tools if size is 0.
func (p *proof) size(ctx context.Context, size int) error {
	wanted := size
	if wanted == 0 {
		wanted = 1 << 30
	}
	b, err := p.newProject(ctx, compose(p.demo, p.lists, wanted))
	if err != nil {
		return fmt.Errorf("make a tree of %d tools: %w", size, err)
	}
	if available := p.available(); available < size || slices.Contains(p.made, b.tools) {
		fmt.Fprintf(p.progress, "%d tools: left out, there are %d recorded and demo tools in all\n", size, available)
		return nil
	}
	p.made = append(p.made, b.tools)
	p.forms = append(p.forms, b.forms)
	if p.mcprun != "" {
		f, err := p.fixedCost(ctx, b)
		if err != nil {
			return fmt.Errorf("count what mcprun serve costs: %w", err)
		}
		p.fixed = append(p.fixed, *f)
	}
	for _, t := range p.tasks {
		for _, w := range p.ways {
			if w == byServe && p.mcprun == "" {
				continue
			}
			if err := p.one(ctx, b, t, w); err != nil {
				return fmt.Errorf("task %s, %s, %d tools: %w", t.name, w, b.tools, err)
			}
		}
	}
	return nil
}

// available returns the number of all tools.
func (p *proof) available() int {
	n := p.demo.Tools()
	for _, s := range p.lists {
		n += len(s.Tools)
	}
	return n
}

// newProject generates the tree of servers.
func (p *proof) newProject(ctx context.Context, servers []catalog.Server) (*project, error) {
	dir, err := os.MkdirTemp(p.temp, "tree-")
	if err != nil {
		return nil, err
	}
	b := &project{dir: dir, upstreams: &currentPool{}}
	if b.tree, err = writeTree(ctx, dir, servers); err != nil {
		return nil, err
	}
	b.tools = b.tree.Catalog.Tools()
	language, _ := gen.LanguageOf(string(config.TypeScript))
	for i := range b.tree.Catalog.Servers {
		b.instructions += p.count.count(b.tree.Catalog.Servers[i].Instructions)
		for j := range b.tree.Catalog.Servers[i].Tools {
			tool := &b.tree.Catalog.Servers[i].Tools[j]
			d, err := b.tree.Find(tool.ID)
			if err != nil {
				return nil, err
			}
			i := slices.IndexFunc(d.Wrappers, func(w gen.Wrapper) bool { return w.Language == language.Name })
			b.definitions += p.count.count(definition(tool))
			b.signatures += p.count.count(language.Brief(d.Wrappers[i].Source, d.Wrappers[i].Function))
			b.wrappers += p.count.count(d.Wrappers[i].Source)
		}
	}
	if b.runner, err = runner.New(&runner.Options{Tree: b.tree.Dir, Upstreams: b.upstreams}); err != nil {
		return nil, err
	}
	b.finder = newFinder(b.tree)
	return b, nil
}

// one does a task in one way with a fresh copy of the data, and checks the result.
func (p *proof) one(ctx context.Context, b *project, t task, w way) (err error) {
	data, err := os.MkdirTemp(p.temp, "data-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	if err := copyTree(data, p.seed); err != nil {
		return err
	}
	world := newWorld(p.mcpdemo, data)
	defer func() { err = errors.Join(err, world.Close()) }()
	servers := map[string]bool{}
	for _, n := range t.needs {
		servers[n.server()] = true
	}
	if err := world.start(ctx, servers); err != nil {
		return err
	}
	b.upstreams.Pool = world.pool
	did, err := p.do(ctx, b, t, w, world)
	if err != nil {
		return err
	}
	if len(did.wrote) > 0 && len(t.changes) == 0 {
		return fmt.Errorf("it called %v, which may change data", did.wrote)
	}
	now, err := stateOf(ctx, data)
	if err != nil {
		return err
	}
	if err := t.changes.check(p.data.differences(now)); err != nil {
		return fmt.Errorf("it was not done right: %w", err)
	}
	if err := t.check(&judge{ctx: ctx, answer: did.answer, before: p.before, after: world}); err != nil {
		return fmt.Errorf("it was not done right: %w", err)
	}
	l := did.led
	p.out = append(p.out, measured{
		Task: t.name, Kind: t.kind, Way: w, Tools: b.tools, In: l.in, Out: l.out, Definitions: l.definitions, Instructions: did.instructions,
		Billed: l.billed, Cached: l.cached, Calls: did.calls, Turns: l.turns, MS: float64(did.took.Microseconds()) / 1000,
	})
	fmt.Fprintf(p.progress, "%5d tools  %-24s %-18s %8d tokens\n", b.tools, t.name, w, l.in+l.out)
	return nil
}

// done is the outcome of a task.
type done struct {
	led    *ledger
	answer string
	calls  int
	wrote  []string
	took   time.Duration
	// instructions is the number of tokens in servers' instructions that the model reads.
	instructions int
}

func (p *proof) do(ctx context.Context, b *project, t task, w way, world *world) (*done, error) {
	led := &ledger{}
	switch w {
	case byScript, byReadme:
		return p.script(ctx, b, t, w, led)
	case byServe:
		return p.viaServe(ctx, b, t, world, led)
	}
	m := &model{ctx: ctx, world: world, led: led, count: p.count.count, tools: b.tree.Catalog}
	if w == byCalls {
		led.define(b.definitions + b.instructions)
	} else {
		led.define(p.count.count(searchTools) + b.instructions)
		m.write = func(tool string, args json.RawMessage) string {
			return written("call_tool", object{"tool": tool, "arguments": args})
		}
	}
	led.read(p.count.count(t.prompt))
	if w == bySearch {
		l := b.finder.lookup(ctx, &lookup{led: led, count: p.count.count})
		if err := l.tools(t); err != nil {
			return nil, err
		}
		m.calls = l.calls
	}
	began := time.Now()
	answer := t.direct(m)
	m.answer(answer)
	return &done{led, answer, m.calls, m.wrote, time.Since(began), b.instructions}, m.err
}

// script does a task with scripts.
func (p *proof) script(ctx context.Context, b *project, t task, w way, led *ledger) (*done, error) {
	c := &coder{ctx: ctx, led: led, count: p.count.count, tree: b.tree, finder: b.finder, runner: b.runner, with: p.typed}
	told, look := guide.Paragraph("servers"), c.follow
	if w == byReadme {
		told, look = pointer, c.browse
	}
	led.define(p.count.count(shellTool) + p.count.count(told))
	led.read(p.count.count(t.prompt))
	if err := look(t); err != nil {
		return nil, err
	}
	answer, err := c.run(t.scripts)
	return &done{led, answer, c.calls, c.wrote, c.took, 0}, err
}

// searchTools are the definitions that search-then-call has in its context: the three tools of mcprun serve that it needs.
const searchTools = `{"name":"search_tools","description":"Find tools by what they do.","input_schema":{"type":"object","properties":{"query":{"type":"string"},"category":{"type":"string"},"detail_level":{"enum":["name","description","full"]}},"required":["query"]}}
{"name":"get_tool_definition","description":"A tool's definition.","input_schema":{"type":"object","properties":{"tool_name":{"type":"string"},"category":{"type":"string"}},"required":["tool_name"]}}
{"name":"call_tool","description":"Call one tool without a script.","input_schema":{"type":"object","properties":{"tool":{"type":"string","description":"server__tool"},"arguments":{"type":"object"}},"required":["tool"]}}`
