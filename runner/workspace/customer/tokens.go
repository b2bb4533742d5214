package customer

import (
	"math"

	"github.com/mcpgen/mcpgen/runner/model"
)

// Tokens compares what one or several runs cost the model, in tokens, with the cost of direct tool calls and of search-then-call, where a
// host offers the model only the tools that it searches for. The tokens for finding tools are left out of all three.
type Tokens struct {
	Used        int64 `json:"used"` // script, wrappers and output
	Script      int64 `json:"script"`
	Wrappers    int64 `json:"wrappers"`
	Output      int64 `json:"output"`
	Direct      int64 `json:"direct"` // definitions, arguments and results
	Arguments   int64 `json:"arguments"`
	Definitions int64 `json:"definitions"` // of all tools, which were not sent; 0 for a run without calls
	Results     int64 `json:"results"`     // of calls, which only the script read
	Saved       int64 `json:"saved"`       // Direct − Used; 0 if direct calls cost less
	Search      int64 `json:"search"`      // definitions of called tools, arguments and results
	Called      int64 `json:"called"`      // definitions of the called tools; 0 in logs from before it was counted
	SavedSearch int64 `json:"savedSearch"` // Search − Used; 0 if search-then-call costs less
}

// ToolTokens are the tokens that a model reads about one tool: its definition, and its wrapper in the language of the script.
type ToolTokens struct {
	Called  int64 `json:"called"`
	Wrapper int64 `json:"wrapper"`
}

// Sum returns t with Used, Direct, Search and the savings computed from the other fields.
func (t Tokens) Sum() Tokens {
	t.Used = t.Script + t.Wrappers + t.Output
	t.Direct = t.Definitions + t.Arguments + t.Results
	t.Search = t.Called + t.Arguments + t.Results
	return t.less()
}

func (t Tokens) less() Tokens {
	t.Saved, t.SavedSearch = max(0, t.Direct-t.Used), max(0, t.Search-t.Used)
	return t
}

// Share returns what a run with the given number of calls adds to a conversation in which direct calls have already paid paid tokens for
// definitions, because direct calls need them only once for any number of runs. A run without calls needs none.
func (t Tokens) Share(paid int64, calls int) Tokens {
	if calls == 0 {
		t.Definitions = 0
	}
	t.Definitions = max(0, t.Definitions-paid)
	t.Direct = t.Definitions + t.Arguments + t.Results
	t.Search = t.Called + t.Arguments + t.Results
	return t.less()
}

// add adds o to t. The total saving is less than the sum of the savings if some runs cost more than the other ways.
func (t *Tokens) add(o *Tokens) {
	t.Used += o.Used
	t.Script += o.Script
	t.Wrappers += o.Wrappers
	t.Output += o.Output
	t.Direct += o.Direct
	t.Arguments += o.Arguments
	t.Definitions += o.Definitions
	t.Results += o.Results
	t.Search += o.Search
	t.Called += o.Called
	*t = t.less()
}

// SavedPercent returns the share of the cost of direct calls that was saved, in percent, rounded to a tenth.
func (t *Tokens) SavedPercent() float64 { return percent(t.Saved, t.Direct) }

// SavedSearchPercent is the same for search-then-call.
func (t *Tokens) SavedSearchPercent() float64 { return percent(t.SavedSearch, t.Search) }

func percent(part, of int64) float64 {
	if of <= 0 {
		return 0
	}
	return math.Round(1000*float64(part)/float64(of)) / 10
}

// ReadSpeed and WriteSpeed are a model's assumed speeds, in tokens per second.
const (
	ReadSpeed  = 5000
	WriteSpeed = 60
)

// Cost is what a model's tokens cost.
type Cost struct {
	Tokens  int64   `json:"tokens"`
	Money   float64 `json:"money"`   // in the currency of the prices
	Seconds float64 `json:"seconds"` // for reading and writing; the number of turns is not considered
}

func cost(p model.Prices, read, wrote int64) Cost {
	return Cost{read + wrote, math.Round(1e6*p.Cost(read, wrote)) / 1e6, math.Round(1000*(float64(read)/ReadSpeed+float64(wrote)/WriteSpeed)) / 1000}
}

// Less returns how much less c costs than o. It is negative if c costs more.
func (c Cost) Less(o Cost) Cost {
	return Cost{o.Tokens - c.Tokens, math.Round(1e6*(o.Money-c.Money)) / 1e6, math.Round(1000*(o.Seconds-c.Seconds)) / 1000}
}

// Costs are the costs of runs, and what the same work would have cost in other ways.
type Costs struct {
	Used   Cost `json:"used"`
	Search Cost `json:"search"` // search-then-call
	Direct Cost `json:"direct"`
}

// Costs returns what the tokens cost. A model writes scripts and arguments, and reads everything else.
func (t *Tokens) Costs(p model.Prices) Costs {
	return Costs{
		Used: cost(p, t.Wrappers+t.Output, t.Script), Search: cost(p, t.Called+t.Results, t.Arguments), Direct: cost(p, t.Definitions+t.Results, t.Arguments),
	}
}
