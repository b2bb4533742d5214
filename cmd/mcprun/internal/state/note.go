package state

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/audit"
)

// NoteAccess adds to the record what a person does with the vault, unless the settings say that nothing is recorded. The next head covers the
// row. names hold no personal data.
func (o *PlaceFlag) NoteAccess(ctx context.Context, app *cli.App, p *project.Project, customer, action string, names []string, count int) error {
	var record Flags
	settings := &config.Settings{}
	if p.Cfg != nil {
		settings = &p.Cfg.Settings
	}
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	record.Bind(set)
	if err := flags.ApplyDefaults(app, set, settings); err != nil || !record.Records(true) {
		return err
	}
	place, err := o.Place(app, p.Base)
	if err != nil {
		return err
	}
	s, err := p.State(ctx)
	if err != nil {
		return err
	}
	log, err := audit.Open(s, audit.Options{Who: audit.Who{User: audit.Text(UserName())}, Ahead: ahead(place)})
	if err != nil {
		return err
	}
	row := audit.Access{Action: action, Names: append([]string{}, names...), Count: count}
	return errors.Join(log.Append(ctx, audit.Entry{Kind: audit.KindAccess, Who: audit.Who{Customer: audit.Text(customer)}, Body: row}), log.Close())
}
