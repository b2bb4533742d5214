package runner

import (
	"os"
	"sync"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/tokens"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// Tokens compares what a model reads and writes for this run with what direct tool calls would have cost: every definition in advance, and
// every argument and result through its context; and with search-then-call, which needs the definitions of only the tools that it finds. It
// covers this run alone: several runs of one conversation would share the definitions, see customer.Tokens.Share. It does not count what a
// model reads to find the wrappers (folders, an index, a search), which serves many runs. The encoding is o200k_base; texts of more than 1
// MiB are estimated from their two ends.
type Tokens struct {
	// Used = Script + Wrappers + Output.
	Used     int `json:"used"`
	Script   int `json:"script"`   // the script, written by the model
	Wrappers int `json:"wrappers"` // the wrapper files of the tools it called, read to write it
	Output   int `json:"output"`   // stdout, stderr and the result value
	// Direct = Definitions + Arguments + Results.
	Direct      int `json:"direct"`
	Definitions int `json:"definitions"` // name, description and input schema of every tool in the tree; 0 when no tool was called
	Arguments   int `json:"arguments"`
	Results     int `json:"results"`
	// Saved = Direct − Used; 0 when direct calls would have been cheaper.
	Saved        int     `json:"saved"`
	SavedPercent float64 `json:"savedPercent"`
	// Search = Called + Arguments + Results: what a host would have cost that searches for tools and then offers them to the model.
	Search int `json:"search"`
	Called int `json:"called"` // name, description and input schema of the tools that were called
	// SavedSearch = Search − Used; 0 when search-then-call would have been cheaper.
	SavedSearch        int     `json:"savedSearch"`
	SavedSearchPercent float64 `json:"savedSearchPercent"`

	tools map[string]customer.ToolTokens
}

// definitionCount counts the tokens of a catalog's definitions once: a thousand tools take a fifth of a second.
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

// countTokens returns what the run cost and what direct calls would have cost. The output is what the script printed, its
// result, and its type errors. Definitions count only for a run that called a tool of the catalog.
func (r *Runner) countTokens(s *Script, calls *chain.Summary, output ...string) *Tokens {
	t := &Tokens{Script: tokens.Count(s.Code), Arguments: calls.ArgumentTokens, Results: calls.ResultTokens, tools: r.toolTokens(s.Language, calls.Calls)}
	for _, text := range output {
		t.Output += tokens.Estimate(text)
	}
	for _, one := range t.tools {
		t.Called += int(one.Called)
		t.Wrappers += int(one.Wrapper)
	}
	if len(t.tools) > 0 {
		t.Definitions = r.definitions.count(r.catalog)
	}
	sum := t.logged().Sum()
	t.Used, t.Direct, t.Search = int(sum.Used), int(sum.Direct), int(sum.Search)
	t.Saved, t.SavedPercent = int(sum.Saved), sum.SavedPercent()
	t.SavedSearch, t.SavedSearchPercent = int(sum.SavedSearch), sum.SavedSearchPercent()
	return t
}

// toolTokens counts the tokens of the definitions, and of the wrapper files, of the tools of the catalog that were called.
func (r *Runner) toolTokens(lang sandbox.Language, calls []chain.CallRecord) map[string]customer.ToolTokens {
	out := map[string]customer.ToolTokens{}
	root, err := os.OpenRoot(r.opt.Tree)
	if err == nil {
		defer root.Close()
	}
	for _, c := range calls {
		server, tool, known := r.catalog.Lookup(c.Tool)
		if _, counted := out[c.Tool]; counted || !known {
			continue
		}
		one := customer.ToolTokens{Called: int64(tokens.Count(tool.Definition()))}
		if err == nil && r.lock != nil {
			if text, err := root.ReadFile(r.lock.Servers[server.Key].Tools[tool.Name].Names[string(lang)].File); err == nil {
				one.Wrapper = int64(tokens.Count(string(text)))
			}
		}
		out[c.Tool] = one
	}
	return out
}

func (t *Tokens) logged() *customer.Tokens {
	if t == nil {
		return nil
	}
	return &customer.Tokens{
		Used: int64(t.Used), Script: int64(t.Script), Wrappers: int64(t.Wrappers), Output: int64(t.Output),
		Direct: int64(t.Direct), Definitions: int64(t.Definitions), Arguments: int64(t.Arguments), Results: int64(t.Results), Saved: int64(t.Saved),
		Search: int64(t.Search), Called: int64(t.Called), SavedSearch: int64(t.SavedSearch),
	}
}
