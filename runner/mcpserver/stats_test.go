package mcpserver_test

import (
	"context"
	"testing"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
)

// TestSavedOncePerSession checks that the definitions count as saved once per session, and once for all clients of a customer without
// sessions. Runs without calls save nothing.
func TestSavedOncePerSession(t *testing.T) {
	w := newFixture(t)
	w.run = func(_ context.Context, job *mcpserver.Job) (*runner.Result, error) {
		if job.Code == "silent" {
			return &runner.Result{Cause: runner.CauseExit, Tokens: &runner.Tokens{Used: 5, Saved: -5}}, nil
		}
		return &runner.Result{Cause: runner.CauseExit, CallCount: 1, Files: []string{"a", "b"}, Calls: []chain.CallRecord{{Tool: "a__b", Outcome: chain.OutcomeOK}}, Tokens: &runner.Tokens{
			Used: 10, Script: 4, Output: 6, Definitions: 1000, Arguments: 3, Results: 17, Direct: 1020, Saved: 1010, Called: 40, Search: 60, SavedSearch: 50,
		}}, nil
	}
	srv := w.web(w.server(), &mcpserver.HTTPOptions{Tokens: tokensOf(t)})
	run := func(revision string, codes ...string) (saved []float64) {
		cs := connect(t, srv.URL, tokenOfAda, revision, nil)
		for _, code := range codes {
			n, _ := metaOf(call(t, cs, "execute_code", map[string]any{"code": code}), "tokensSaved").(float64)
			saved = append(saved, n)
		}
		return saved
	}
	for i, c := range []struct {
		revision string
		want     []float64
	}{
		{revisions[0], []float64{0, 1010, 10, 0}}, {revisions[0], []float64{0, 1010, 10, 0}}, // two sessions
		{revisions[1], []float64{0, 1010, 10, 0}}, {revisions[1], []float64{0, 10, 10, 0}}, // no session: one conversation
	} {
		got := run(c.revision, "silent", "calls", "calls", "silent")
		for j := range c.want {
			if got[j] != c.want[j] {
				t.Errorf("%d, %s: saved %v, not %v", i, c.revision, got, c.want)
				break
			}
		}
	}
	res := call(t, connect(t, srv.URL, tokenOfAda, revisions[1], nil), "get_execution_stats", nil)
	if used, saved := structured(t, res, "tokensUsed"), structured(t, res, "tokensSaved"); used != 120.0 || saved != 3000.0+8*10-8*5 {
		t.Errorf("used %v, saved %v, want 120.0 and %v", used, saved, 3000.0+8*10-8*5)
	}
	if beside := structured(t, res, "tokensSavedBesideSearch"); beside != 8*60.0-120 {
		t.Errorf("saved %v beside search-then-call, want %v", beside, 8*60.0-120)
	}
	// Eight calls: 8 × 57 tokens read and 8 × 3 written, at 3 and 15 for a million.
	costs, _ := structured(t, res, "costs").(map[string]any)
	if search, _ := costs["search"].(map[string]any); search["tokens"] != 480.0 || search["money"] != 0.001728 {
		t.Errorf("costs %v, want 480.0 and 0.001728", costs)
	}
	names := map[string]int{}
	for _, e := range w.logs {
		names[e.Session]++
	}
	if len(names) != 3 || names[""] != 8 {
		t.Errorf("logged for the sessions %v, want len(names) 3 and 8", names)
	}
}

// TestMistypedTools checks that tools that are not in the tree have one row of the statistics.
func TestMistypedTools(t *testing.T) {
	w := newFixture(t)
	w.opt.Call = func(_ context.Context, job *mcpserver.CallJob) (*mcpserver.CallAnswer, error) {
		return &mcpserver.CallAnswer{Raw: []byte(`{"content":[]}`), Record: chain.CallRecord{Tool: job.Tool, Outcome: chain.OutcomeOK}}, nil
	}
	cs := w.stdio(w.server(), revisions[1], nil)
	for _, tool := range []string{"calculator__add", "calculator__ad", "calc__add"} {
		call(t, cs, "call_tool", map[string]any{"tool": tool})
	}
	rows, _ := structured(t, call(t, cs, "get_execution_stats", nil), "tools").([]any)
	calls := map[any]any{}
	for _, row := range rows {
		one, _ := row.(map[string]any)
		calls[one["tool"]] = one["calls"]
	}
	if len(calls) != 2 || calls["calculator__add"] != 1.0 || calls["others"] != 2.0 {
		t.Errorf("rows %v, want len(calls) 2, 1.0 and 2.0", rows)
	}
}
