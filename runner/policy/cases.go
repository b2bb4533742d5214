package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/risk"
)

// CaseResult is the outcome of a case.
type CaseResult struct {
	Name string `json:"name"`
	Line int    `json:"line"`
	// Want and Got are effects. Got.Effect is empty if the call could not be decided. Problem says what is wrong, or is empty if the case
	// passes. Warning reports a likely mistake in the case.
	Want    Effect   `json:"want"`
	Got     Decision `json:"got"`
	Problem string   `json:"problem,omitempty"`
	Warning string   `json:"warning,omitempty"`
}

// Test decides the calls of the cases. Each case is independent of the others.
func (p *Policy) Test(tools []Tool, cases []config.PolicyCase) []CaseResult {
	out := make([]CaseResult, 0, len(cases))
	k := p.known(tools)
	for i := range cases {
		c := &cases[i]
		rules := p.part(c.Customer).ruleNames()
		r := CaseResult{Name: c.Name, Line: c.Line, Want: Effect(c.Expect)}
		if r.Name == "" {
			r.Name = fmt.Sprintf("%s: %s", c.Tool, c.Expect)
		}
		var err error
		r.Warning, err = k.check(c.Customer, c.Taint)
		if err == nil {
			r.Got, err = p.testCase(tools, k, c)
		}
		switch {
		case err != nil:
			r.Problem = err.Error()
		case r.Got.Effect != r.Want:
			r.Problem = fmt.Sprintf("got %s, want %s", r.Got.Effect, r.Want)
		case c.Rule != "" && r.Got.Rule != c.Rule && !slices.Contains(rules, c.Rule):
			r.Problem = fmt.Sprintf("the policy has no rule %q%s", c.Rule, didYouMean(ident.Nearest(c.Rule, rules, maxNear)))
		case c.Rule != "" && r.Got.Rule != c.Rule:
			r.Problem = fmt.Sprintf("rule %q decided, want %q", r.Got.Rule, c.Rule)
		}
		out = append(out, r)
	}
	return out
}

// testCase makes the calls of a case and returns the last decision.
func (p *Policy) testCase(tools []Tool, k *known, c *config.PolicyCase) (Decision, error) {
	if problem := k.unknown("tool", c.Tool); problem != "" {
		return Decision{}, errors.New(problem)
	}
	i := slices.IndexFunc(tools, func(t Tool) bool { return t.ID == c.Tool })
	if c.Args == nil {
		c.Args = map[string]any{}
	}
	args, err := json.Marshal(c.Args)
	if err != nil {
		return Decision{}, fmt.Errorf("args: %w", err)
	}
	s := newSampler(tools[i].Input)
	if s.valid != nil {
		if err := s.valid.ValidateAs("args", args); err != nil {
			return Decision{}, fmt.Errorf("the arguments do not match the tool's schema: %w", err)
		}
	}
	e := &Example{Args: args, Customer: c.Customer, Session: c.Session, Taint: received(tools, c.Taint), Calls: c.Calls}
	if e.Risk, err = risk.Parse(c.Risk); err != nil {
		return Decision{}, err
	}
	own := *p
	own.rates = NewRates()
	req, d := e.request(&tools[i]), Decision{}
	for range max(1, c.Times) {
		d = own.Decide(context.Background(), req)
	}
	return d, nil
}
