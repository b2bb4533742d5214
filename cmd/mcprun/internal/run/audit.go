package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/chain"
)

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
	calls.Audit, calls.Who.User = log, audit.Text(state.UserName())
	lock, err := os.ReadFile(filepath.Join(p.Wanted, catalog.LockPath))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the lock: %w", err)
	}
	policy, err := p.Settings.Policy.Digest()
	if err != nil {
		return err
	}
	network, err := p.Settings.Network.Digest()
	if err != nil {
		return err
	}
	tree := ""
	if lock != nil {
		tree = approve.Digest(string(lock))
	}
	return errors.Join(log.NoteChange(ctx, "policy", policy), log.NoteChange(ctx, "network", network), log.NoteChange(ctx, "tree", tree))
}

// notePlan adds to the record what has happened to a plan.
func notePlan(calls *chain.Settings, p *approve.Plan, event, by string) {
	calls.Audit.Later(calls.Entry(audit.KindPlan, "", audit.Plan{Plan: p.ID, Event: event, Digest: audit.Text(p.Digest), Calls: len(p.Calls), By: audit.Text(by)}))
}
