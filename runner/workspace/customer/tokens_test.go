package customer

import (
	"testing"

	"github.com/mcpgen/mcpgen/runner/model"
)

// TestCosts prices two runs of a conversation that call the same tools. Their definitions and wrappers are read once.
func TestCosts(t *testing.T) {
	run := func() *Run {
		tokens := Tokens{Script: 100, Wrappers: 50, Output: 50, Definitions: 10_000, Called: 400, Arguments: 60, Results: 2000}.Sum()
		return &Run{Cause: "exit", CallCount: 2, Tokens: &tokens, ToolTokens: map[string]ToolTokens{"a__a": {100, 20}, "a__b": {300, 30}}}
	}
	var s Stats
	s.Add(s.First, run())
	if s.Tokens.Used != 200 || s.Tokens.Search != 2460 || s.Tokens.SavedSearch != 2260 || s.Tokens.SavedSearchPercent() != 91.9 || s.Tokens.Direct != 12_060 {
		t.Errorf("one run: %+v", s.Tokens)
	}
	s.Add(s.First, run())
	s.Price(model.Prices{Input: 2, Output: 10})
	want := Costs{ // the second run adds neither 400 of definitions nor 50 of wrappers
		Used:   Cost{Tokens: 350, Money: 0.0023, Seconds: 3.363},  // 150 read, 200 written
		Search: Cost{Tokens: 4520, Money: 0.01, Seconds: 2.88},    // 4,400 read, 120 written
		Direct: Cost{Tokens: 14_120, Money: 0.0292, Seconds: 4.8}, // 14,000 read, 120 written
	}
	if *s.Costs != want {
		t.Errorf("%+v, want %+v", *s.Costs, want)
	}
	if less := s.Costs.Used.Less(s.Costs.Search); less != (Cost{Tokens: 4170, Money: 0.0077, Seconds: -0.483}) {
		t.Errorf("saved %+v", less)
	}
}
