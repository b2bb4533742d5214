package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/approve"
)

// usePlan applies --plan.
func (o *Options) usePlan(p *project.Project, s *runner.Script) error {
	if o.plan == "" {
		return nil
	}
	if s.Calls.DryRun || o.replay != "" {
		return flags.Usage("--plan cannot be combined with --dry-run or --replay")
	}
	plans, err := o.openPlans(s)
	if err != nil {
		return err
	}
	want, err := o.wanted(p, s)
	if err != nil {
		return err
	}
	plan, err := plans.Open(o.plan, want)
	if err != nil {
		return err
	}
	plan.Used = func() { notePlan(&s.Calls, plan, "used", plan.By) }
	s.Calls.Policy = plans.Allow(s.Calls.Policy, plan)
	return nil
}

// openPlans returns the user's plans. Scripts must not reach them.
func (o *Options) openPlans(s *runner.Script) (*approve.Plans, error) {
	state, err := o.App.StateDir()
	if err != nil {
		return nil, fmt.Errorf("find the plans: %w", err)
	}
	dir := filepath.Join(state, "plans")
	if s.Workspace != "" && project.IsBelow(dir, s.Workspace) {
		return nil, cli.WithHint(fmt.Errorf("the folder of plans %q is in the workspace %q, where scripts could change it", dir, s.Workspace),
			"name another workspace, or another folder with XDG_STATE_HOME")
	}
	secret, err := customers.Key(o.App)
	if err != nil {
		return nil, err
	}
	var ring approve.Keyring
	if system, ok := customers.Keyring(o.App); ok {
		ring = system
	}
	return approve.OpenPlans(dir, secret, ring)
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
