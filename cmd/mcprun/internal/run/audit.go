package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/chain"
)

// RefuseState returns an error if the state of a project is a file in a workspace, before it is made there.
func RefuseState(app *cli.App, at *state.Flags, p *project.Project, workspace string) error {
	place, err := at.Place(app, p.Base)
	if err == nil && !cli.IsURL(place) && project.IsBelow(place, workspace) {
		return &runner.WorkspaceError{Workspace: workspace, Path: place}
	}
	return nil
}

// Record makes calls go to the record of the project, if they are recorded, and adds to it that the policy, the network's rules or the tree have changed. usual says
// whether runs of this kind are recorded, unless a flag or a setting says otherwise. warn is called with a line for the operator if a row could
// not be written. Call it before what is not for scripts is decided, since that includes the record.
func Record(ctx context.Context, app *cli.App, at *state.Flags, p *project.Project, calls *chain.Settings, usual bool, warn func(line string)) error {
	if !at.Records(usual) {
		return nil
	}
	log, err := at.OpenLog(ctx, app, p, warn)
	if errors.Is(err, state.ErrNoPlace) && !at.Asked() {
		warn(cli.EscapeLine(fmt.Sprintf("runs are not recorded: %v; set HOME or XDG_STATE_HOME", err)))
		return nil
	}
	if err != nil {
		return cli.WithHint(fmt.Errorf("runs cannot be recorded: %w", err), "--audit=false runs without a record")
	}
	host, _ := os.Hostname()
	calls.Audit, calls.Who.User = log, audit.Text(state.UserName())
	calls.Machine = audit.Machine{Host: audit.Text(host), Version: audit.Text("mcprun " + cli.Version())}
	lock, err := os.ReadFile(filepath.Join(p.Wanted, catalog.LockPath))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the lock: %w", err)
	}
	tree := audit.Subject{What: "tree"}
	if lock != nil {
		tree.Digest = approve.Digest(string(lock))
	}
	settings, err := subjects(p, customers.Conceal(p.Upstreams))
	if err != nil {
		return err
	}
	return log.NoteChanges(ctx, customers.RecordMask(p.Upstreams), append(settings, tree)...)
}

// subjects returns the settings whose changes the record has. conceal removes secrets from those of servers; nil: there are no servers.
func subjects(p *project.Project, conceal func(string) string) (list []audit.Subject, err error) {
	for what, read := range map[string]func() (string, error){
		"policy": p.Settings.Policy.Text, "network": p.Settings.Network.Text, "pii": p.Settings.PII.Text, "audit": p.Settings.Audit.Text, "plugins": func() (string, error) { return p.Settings.PluginsText(p.Base) },
		"servers": func() (string, error) {
			if p.Cfg == nil || conceal == nil {
				return "", nil
			}
			return config.ServersText(p.Cfg.Servers, conceal)
		},
	} {
		text, err := read()
		if err != nil {
			return nil, err
		}
		list = append(list, audit.Subject{What: what, Text: text})
	}
	slices.SortFunc(list, func(a, b audit.Subject) int { return cmp.Compare(a.What, b.What) })
	return list, nil
}

// notePlan adds to the record what has happened to a plan.
func notePlan(calls *chain.Settings, p *approve.Plan, event, by string) {
	calls.Audit.Later(calls.Entry(audit.KindPlan, "", audit.Plan{Plan: p.ID, Event: event, Digest: audit.Text(p.Digest), Calls: len(p.Calls), By: audit.Text(by)}))
}
