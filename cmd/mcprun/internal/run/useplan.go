package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/approve"
)

// usePlan applies --plan.
func (o *Options) usePlan(ctx context.Context, p *project.Project, s *runner.Script) error {
	if o.plan == "" {
		return nil
	}
	if s.Calls.DryRun || o.replay != "" {
		return flags.Usage("--plan cannot be combined with --dry-run or --replay")
	}
	plans, err := o.openPlans(p, s)
	if err != nil {
		return err
	}
	want, err := o.wanted(p, s)
	if err != nil {
		return err
	}
	plan, err := plans.Open(ctx, o.plan, want)
	if err != nil {
		return err
	}
	plan.Used = func() { notePlan(&s.Calls, plan, "used", plan.By) }
	s.Calls.Policy = plans.Allow(s.Calls.Policy, plan)
	return nil
}

// openPlans returns the project's plans. Those of earlier versions are files in the state folder.
func (o *Options) openPlans(p *project.Project, s *runner.Script) (*approve.Plans, error) {
	state, err := o.App.StateDir()
	if err != nil {
		return nil, fmt.Errorf("find the plans: %w", err)
	}
	say := func(line string) { fmt.Fprintln(o.App.Stderr, "mcprun: "+line) }
	return approve.OpenPlans(keptOf(o.App, p, s.Workspace, say), filepath.Join(state, "plans")), nil
}

// wanted returns the script, lock and customer that a plan must be for.
func (o *Options) wanted(p *project.Project, s *runner.Script) (*approve.Plan, error) {
	want := &approve.Plan{Digest: o.digest, Customer: o.Customer}
	lock, err := os.ReadFile(filepath.Join(p.Tree, catalog.LockPath))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the lock: %w", err)
	}
	want.Lock = approve.Digest(string(lock))
	return want, nil
}
