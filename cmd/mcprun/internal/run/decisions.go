package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// unrecorded keeps what was decided in a run that is not recorded, because nobody asked for that: add adds it to the record afterwards. With
// --audit=false, nothing is kept. A failure does not change the run's result; warn is called with it.
func unrecorded(ctx context.Context, app *cli.App, at *state.Flags, p *project.Project, calls *chain.Settings, warn func(line string), add func(*chain.Settings) error) {
	if calls.Audit != nil || at.Asked() {
		return
	}
	ctx = context.WithoutCancel(ctx)
	set := *calls
	err := Record(ctx, app, at, p, &set, true, warn)
	if err == nil && set.Audit != nil {
		err = errors.Join(add(&set), set.Audit.Flush(ctx))
	}
	if err != nil {
		warn(cli.EscapeLine(fmt.Sprintf("what was decided in the run is not kept: %v", err)))
	}
}

// keepDecisions keeps what was decided in a run without a customer.
func keepDecisions(ctx context.Context, app *cli.App, at *state.Flags, p *project.Project, calls *chain.Settings, run *customer.Run, warn func(line string)) {
	if !run.Decided() {
		return
	}
	unrecorded(ctx, app, at, p, calls, warn, func(set *chain.Settings) error { return addDecisions(ctx, set, customers.Decisions(p, run)) })
}

// addDecisions adds a run with its decisions to the record, as if it had been recorded.
func addDecisions(ctx context.Context, set *chain.Settings, run *customer.Run) error {
	end := audit.RunEnd{
		Program: audit.Program{Action: "call_tool", Name: audit.Text(run.Name), Language: audit.Text(run.Language), Risk: audit.Text(run.Risk), RiskReason: audit.Text(run.RiskReason), Machine: set.Machine},
		Sandbox: cmp.Or(run.Sandbox, "none"), ExitCode: run.ExitCode, Cause: run.Cause, Error: audit.Text(run.Message), DurationMS: run.DurationMS, Calls: run.CallCount,
		Violations: []string{}, Files: []string{}, Plugins: run.Plugins,
	}
	end.Success = (&runner.Result{ExitCode: run.ExitCode, Cause: runner.Cause(run.Cause)}).Succeeded()
	start, isScript := run.Start, run.Code != ""
	if isScript {
		digest, err := set.Audit.Code(ctx, run.Code)
		if err != nil {
			return err
		}
		end.Action, end.Code, end.Approved = "execute_code", audit.Text(digest), run.Sandbox != ""
	} else if len(run.Calls) > 0 {
		start, end.Approved = run.Calls[0].Decision, isSent(&run.Calls[0])
	}
	end.AutoApproved = end.Approved
	if start != nil {
		end.Rule, end.By, end.AutoApproved = audit.Text(start.Rule), audit.Text(start.By), end.Approved && start.Effect != string(policy.Ask)
	}
	id := "run-" + rand.Text()[:12]
	var rows []audit.Entry
	if isScript && end.Approved {
		begin := set.Entry(audit.KindRun, id, audit.RunStart{Program: end.Program, Sandbox: audit.Text(run.Sandbox)})
		begin.Time = time.Now().Add(-time.Duration(run.DurationMS * float64(time.Millisecond)))
		rows = append(rows, begin)
	}
	for i := range run.Calls {
		c := &run.Calls[i]
		rows = append(rows, callRows(set, id, i+1, c)...)
		for j := range c.Plugins {
			if p := &c.Plugins[j]; p.Decision != "change" && len(end.Violations) < maxViolations {
				end.Violations = append(end.Violations, "call of "+c.Tool+": "+p.String())
			}
		}
		if d := c.Decision; d != nil && d.Effect == string(policy.Deny) && c.Outcome == string(call.KindDenied) && len(end.Violations) < maxViolations {
			end.Violations = append(end.Violations, "call of "+c.Tool+": "+d.Rule)
		}
	}
	return set.Audit.Append(ctx, append(rows, set.Entry(audit.KindRunEnd, id, end))...)
}

// maxViolations bounds the violations in the end of a run; its calls have all of them.
const maxViolations = 20

// isSent reports whether a call was sent to its server.
func isSent(c *customer.Call) bool {
	return !c.Cached && (c.Outcome != chain.OutcomeDry && c.Outcome != string(call.KindDenied) || audit.Answered(c.Plugins))
}

// callRows returns the rows of a decided call: its beginning, if it was sent, and its end.
func callRows(set *chain.Settings, id string, number int, c *customer.Call) []audit.Entry {
	var arguments json.RawMessage
	if c.Arguments != "" {
		if arguments = json.RawMessage(c.Arguments); !json.Valid(arguments) { // only their beginning is there
			arguments, _ = json.Marshal(c.Arguments)
		}
	}
	var effect, rule, by audit.Text
	if d := c.Decision; d != nil {
		effect, rule, by = audit.Text(d.Effect), audit.Text(d.Rule), audit.Text(d.By)
	}
	end := audit.CallEnd{Call: number, Tool: c.Tool, Outcome: c.Outcome, DurationMS: c.MS, Cached: c.Cached, AgeMS: c.AgeMS, Plugins: c.Plugins}
	if !isSent(c) {
		end.Arguments, end.Effect, end.Rule, end.By = arguments, effect, rule, by
		return []audit.Entry{set.Entry(audit.KindCallEnd, id, end)}
	}
	begin := audit.CallStart{Call: number, Tool: c.Tool, Arguments: arguments, Effect: effect, Rule: rule, By: by}
	return []audit.Entry{set.Entry(audit.KindCall, id, begin), set.Entry(audit.KindCallEnd, id, end)}
}

// keepPlan keeps who answered the question about a plan.
func (o *Options) keepPlan(ctx context.Context, p *project.Project, calls *chain.Settings, plan *approve.Plan, event, by string) {
	warn := func(line string) { fmt.Fprintln(o.App.Stderr, "mcprun: "+line) }
	unrecorded(ctx, o.App, &o.State, p, calls, warn, func(set *chain.Settings) error {
		notePlan(set, plan, event, by)
		return nil
	})
	notePlan(calls, plan, event, by)
}
