package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/script/judge"
)

// ConfirmRule names the rule in questions that Script.Confirm causes.
const ConfirmRule = "scripts are confirmed"

// consent asks a person whether the script may start, if s.Start wants that. If nobody answers or can be asked, the script is refused.
func (r *Runner) consent(ctx context.Context, s *Script, report *judge.Report) error {
	if s.Start.Effect != policy.Ask {
		return nil
	}
	if s.Continues {
		s.Start.By = "in an earlier part of the workflow"
		return nil
	}
	refused := func(format string, args ...any) error {
		d := s.Start
		if why := fmt.Sprintf(format, args...); d.Reason == "" {
			d.Reason = why
		} else {
			d.Reason = why + ": " + d.Reason
		}
		return &policy.RunError{Script: s.Name, Decision: d}
	}
	if s.Calls.Approver == nil {
		return refused("approval is needed, but nobody can be asked here")
	}
	i := &report.Impact
	answer, err := s.Calls.Approver.Approve(ctx, &approve.Question{
		Script: s.Name, Code: s.Code, Customer: s.Calls.Subject.Customer, Risk: s.Risk.Overall(), Rule: s.Start.Source(), Reason: s.Start.Reason,
		Tokens: s.Calls.Masker(), // also of the questions about its calls
		Start: &approve.Start{
			Why: s.Risk.Reason(), Files: found(report, slices.Concat(i.Writes, i.Deletes), "file-write", "file-delete", "own-file-delete"),
			Hosts: found(report, i.Hosts, "network"), Commands: found(report, i.Commands, "process"), Tools: found(report, i.Tools, "tool-unknown"), Reversible: i.Reversible,
		},
	})
	s.Start.By = answer.By
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, approve.ErrNobody):
		return refused("approval is needed, but nobody can be asked here")
	case err != nil:
		return refused("approval is needed, but asking failed: %v", err)
	case answer.Scope == approve.Refused:
		return refused("not approved%s", answer.WhyNot())
	}
	return nil
}

// found returns the names found in the script, each once. If a finding of one of rules has no name, a phrase stands for it.
func found(report *judge.Report, names []string, rules ...string) []string {
	slices.Sort(names)
	names = slices.Compact(names)
	if slices.ContainsFunc(report.Operations, func(op judge.Operation) bool { return op.Target == "" && slices.Contains(rules, op.Rule) }) ||
		len(names) == 0 && slices.ContainsFunc(report.Findings, func(f judge.Finding) bool { return slices.Contains(rules, f.Rule) }) {
		names = append(names, "computed while it runs")
	}
	return names
}
