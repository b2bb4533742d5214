package runner

import (
	"math"
	"os"
	"slices"
	"sync"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/tokens"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// definitionCount is the tokens of a catalog's definitions, counted once: those of a thousand tools take a fifth of a second.
type definitionCount struct {
	once   sync.Once
	tokens int
}

func (d *definitionCount) count(c *catalog.Catalog) int {
	d.once.Do(func() {
		for _, server := range c.Servers {
			for _, tool := range server.Tools {
				d.tokens += tokens.Count(tool.Definition())
			}
		}
	})
	return d.tokens
}

// countTokens fills in what the run cost beside what it would have cost. output is what the script printed, and left as its
// result. Definitions count for a run that called a tool of the catalog: one that calls nothing would have done without.
func (r *Runner) countTokens(s *Script, u *usage, output ...string) *Tokens {
	u.counting.Wait()
	u.mu.Lock()
	defer u.mu.Unlock()
	t := &Tokens{Script: tokens.Count(s.Code), Wrappers: r.wrapperTokens(s.Language, u.calls), Arguments: u.arguments, Results: u.results}
	for _, text := range output {
		t.Output += countText(text)
	}
	if r.called(u.calls) {
		t.Definitions = r.definitions.count(r.catalog)
	}
	t.Used = t.Script + t.Wrappers + t.Output
	t.Direct = t.Definitions + t.Arguments + t.Results
	t.Saved = t.Direct - t.Used
	if t.Direct > 0 {
		t.SavedPercent = math.Round(1000*float64(t.Saved)/float64(t.Direct)) / 10
	}
	return t
}

// called tells whether one of the calls was for a tool that there is.
func (r *Runner) called(calls []CallRecord) bool {
	return slices.ContainsFunc(calls, func(c CallRecord) bool {
		_, _, known := r.catalog.Lookup(c.Tool)
		return known
	})
}

// wrapperTokens counts the wrapper files of the tools that were called, each once.
func (r *Runner) wrapperTokens(lang sandbox.Language, calls []CallRecord) int {
	if r.lock == nil {
		return 0
	}
	root, err := os.OpenRoot(r.opt.Tree)
	if err != nil {
		return 0
	}
	defer root.Close()
	seen := map[string]bool{}
	sum := 0
	for _, c := range calls {
		if seen[c.Tool] {
			continue
		}
		seen[c.Tool] = true
		text, err := root.ReadFile(r.wrapperFile(c.Tool, lang))
		if err == nil {
			sum += tokens.Count(string(text))
		}
	}
	return sum
}

// wrapperFile is the path, below the tree, of a tool's wrapper in a language; empty when there is none.
func (r *Runner) wrapperFile(id string, lang sandbox.Language) string {
	server, tool, ok := r.catalog.Lookup(id)
	if !ok {
		return ""
	}
	return r.lock.Servers[server.Key].Tools[tool.Name].Names[string(lang)].File
}
