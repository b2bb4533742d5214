package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/chain"
)

// auditLog returns the record of the project's runs, or nil if they are not recorded. usual says whether runs of this kind are, unless a flag
// or a setting says otherwise. Closing the project closes it.
func auditLog(context.Context, *cli.App, *state.Flags, *project.Project, bool) (*audit.Log, error) {
	return nil, nil
}

// Record makes calls go to the record of the project, if they are recorded, and adds to it that the policy or the tree has changed.
func Record(ctx context.Context, app *cli.App, at *state.Flags, p *project.Project, calls *chain.Settings, usual bool) error {
	log, err := auditLog(ctx, app, at, p, usual)
	if err != nil || log == nil {
		return err
	}
	calls.Audit, calls.Who.User = log, audit.Text(userName())
	lock, err := os.ReadFile(filepath.Join(p.Wanted, catalog.LockPath))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the lock: %w", err)
	}
	policy, err := p.Settings.Policy.Digest()
	if err != nil {
		return err
	}
	tree := ""
	if lock != nil {
		tree = approve.Digest(string(lock))
	}
	return errors.Join(log.NoteChange(ctx, "policy", policy), log.NoteChange(ctx, "tree", tree))
}

// userName returns the name of the user of the operating system, or "" if it is unknown.
func userName() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

// notePlan adds to the record what has happened to a plan.
func notePlan(calls *chain.Settings, p *approve.Plan, event, by string) {
	calls.Audit.Later(calls.Entry(audit.KindPlan, "", audit.Plan{Plan: p.ID, Event: event, Digest: audit.Text(p.Digest), Calls: len(p.Calls), By: audit.Text(by)}))
}
