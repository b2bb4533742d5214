package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/term"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/pii"
)

// NewPlanCommand returns the command plan.
func NewPlanCommand(app *cli.App, at resources.Provider) *cobra.Command {
	o := &Options{App: app, Resources: at}
	o.planFlags = planFlags{makes: true, expire: defaultPlanTime}
	cmd := &cobra.Command{
		Use: "plan SCRIPT [-- ARGS...]", Short: "List the calls of a script that change data, and approve them before it runs",
		Long: `Makes a dry run, lists the calls that it skipped, and asks whether they may be made. Only the
plan's id is on standard output; mcprun --plan ID SCRIPT makes those calls without asking
again. A plan is for one run of that script and the files that it imports, with the same
tools, and expires. Calls that are not in the plan still need approval.`,
		Example: "  mcprun plan close.ts\n  mcprun plan close.ts --expires 10m --most crm__close_ticket=50\n  mcprun --plan k3jx7… close.ts",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.args = args; o.code == "" && len(args) == 0 {
				return cli.Usage(cmd, "name a script")
			}
			return o.makePlan(cmd.Context())
		},
	}
	o.Bind(cmd)
	return cmd
}

// makePlan does a dry run and asks for approval of the calls that it skipped.
func (o *Options) makePlan(ctx context.Context) error {
	loosen, err := o.loosen()
	if err != nil {
		return err
	}
	if o.JSON || o.Check || o.plan != "" || o.replay != "" {
		return flags.Usage("mcprun plan cannot be combined with --json, --check, --plan or --replay")
	}
	o.planned = func(p *project.Project, s *runner.Script, res *runner.Result) error {
		if res.ExitCode != 0 {
			return nil // its report says why
		}
		return o.approvePlan(ctx, p, s, res, loosen)
	}
	return o.execute(ctx)
}

// approvePlan asks a person about the calls of a dry run, and stores the plan.
func (o *Options) approvePlan(ctx context.Context, p *project.Project, s *runner.Script, res *runner.Result, loosen approve.Loosen) error {
	calls, err := plannedCalls(res, s.Calls.Masker())
	if err != nil || len(calls) == 0 {
		if err == nil {
			_, err = fmt.Fprintln(o.App.Stderr, "mcprun: the script makes no calls that need a plan")
		}
		return err
	}
	plans, err := o.openPlans(p, s)
	if err != nil {
		return err
	}
	plan, err := plans.New(calls, loosen)
	if err != nil {
		return err
	}
	want, err := o.wanted(p, s)
	if err != nil {
		return err
	}
	plan.Script, plan.Digest, plan.Lock, plan.Customer = s.Name, want.Digest, want.Lock, want.Customer
	plan.Until, plan.Lasts = time.Now().Add(o.expire).Round(time.Second), o.expire
	notePlan(&s.Calls, plan, "made", "")
	con := term.NewConsole(o.App)
	defer con.Close()
	asked, err := term.NewElicitor(o.App, con, term.TerminalName(), "")
	if err != nil {
		return err
	}
	defer asked.Close()
	atTerminal := func() (approve.Approver, error) { return asked.Approver(term.TerminalName()) }
	approver, err := o.approver(o.App, p, s.Workspace, o.printer(con), approverWays{approveTerminal: atTerminal})
	if err != nil {
		return err
	}
	if approver == nil {
		return &planRefused{errors.New("nobody can be asked here: a person starts mcprun plan in a terminal")}
	}
	approver = approve.Recorded(approver, s.Calls.Audit, func(kind audit.Kind, body any) audit.Entry { return s.Calls.Entry(kind, "", body) })
	answer, err := approver.Approve(ctx, &approve.Question{Script: s.Name, Code: s.Code, Customer: plan.Customer, Risk: res.Risk, Plan: plan})
	switch {
	case err != nil:
		return err
	case answer.Scope == approve.Refused:
		refused := &planRefused{fmt.Errorf("the plan was not approved%s", leading(": ", answer.Reason))}
		o.keepPlan(ctx, p, &s.Calls, plan, "refused", answer.By)
		return refused
	}
	plan.By = answer.By
	if err := plans.Save(ctx, plan); err != nil {
		return err
	}
	o.keepPlan(ctx, p, &s.Calls, plan, "approved", answer.By)
	_, err = fmt.Fprintln(o.App.Stdout, plan.ID)
	return err
}

// planRefused reports that a plan was not approved.
type planRefused struct{ error }

// ExitCode returns the exit code of a refusal.
func (*planRefused) ExitCode() int { return exit.Refused }

func leading(lead, text string) string {
	if text == "" {
		return ""
	}
	return lead + text
}

// plannedCalls returns the calls that a dry run skipped.
func plannedCalls(res *runner.Result, mask pii.Masker) ([]approve.Call, error) {
	if len(res.Calls) < res.CallCount {
		return nil, fmt.Errorf("the script makes %d calls; a plan can have at most %d", res.CallCount, len(res.Calls))
	}
	var list []approve.Call
	for i := range res.Calls {
		c := &res.Calls[i]
		switch {
		case c.Outcome != chain.OutcomeDry:
			continue
		case len(c.Planned) == 0:
			return nil, errors.New("the arguments of the calls are too large for a plan")
		}
		planned := approve.Call{Tool: c.Tool, Arguments: c.Planned, Masked: mask.MaskJSON(c.Planned)}
		if c.Policy != nil {
			planned.Rule = c.Policy.Source()
		}
		list = append(list, planned)
	}
	return list, nil
}
