// Package shapes has the commands that show and forget the shapes of results that runs have kept. mcpgen learn calls them, because it opens no
// database itself.
package shapes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/gen/learn"
	"github.com/mcpgen/mcpgen/runner/traffic"
)

type command struct {
	app     *cli.App
	project project.LocationFlags
	state   state.PlaceFlag
	json    bool
}

// NewCommand returns `mcprun shapes`.
func NewCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "shapes", Short: "List the shapes of results that runs have kept, and forget them",
		Long: `With learn: traffic in mcpgen.yaml, runs keep the shapes of results that no schema declares, but no
value. mcpgen learn --from runs makes types of them.`,
		Example: "  mcprun shapes list\n  mcprun shapes forget crm list_contacts",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &command{app: app}
	listCmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the tools whose results have kept shapes",
		Example: "  mcprun shapes list\n  mcprun shapes list --json",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return list.list(cmd) },
	}
	listCmd.Flags().BoolVar(&list.json, "json", false, "print one JSON object, with the shapes")
	one := &command{app: app}
	forgetCmd := &cobra.Command{
		Use: "forget SERVER TOOL", Short: "Forget the shapes of a tool's results",
		Example: "  mcprun shapes forget crm list_contacts",
		Args:    cli.Args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return one.with(cmd, func(ctx context.Context, s *traffic.Store) error {
				return s.Forget(ctx, learn.Tool{Server: args[0], Name: args[1]})
			})
		},
	}
	list.bind(listCmd)
	one.bind(forgetCmd)
	cmd.AddCommand(listCmd, forgetCmd)
	return cmd
}

func (o *command) bind(cmd *cobra.Command) {
	o.project.BindConsent(cmd.Flags())
	o.state.Bind(cmd.Flags())
}

// with calls do with what runs have kept. If no run has kept anything, do is not called.
func (o *command) with(cmd *cobra.Command, do func(context.Context, *traffic.Store) error) error {
	ctx := cmd.Context()
	cfg, err := o.project.LoadFor(ctx, o.app, cmd.Flags())
	if err != nil {
		return err
	}
	base := o.app.Dir
	if cfg != nil {
		base = cfg.Dir
	}
	at := o.state.Share(o.app, base, project.NameOf(cfg))
	defer at.Close()
	old, _ := o.app.ProjectTraffic(base) // without a state folder there is no old file
	if _, err := os.Stat(old); err != nil {
		if _, err := at.Existing(ctx); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	say := func(line string) { fmt.Fprintln(o.app.Stderr, "mcprun: "+cli.EscapeLine(line)) }
	return do(ctx, traffic.New(traffic.Options{State: at.Open, Old: old, Moved: say}))
}

func (o *command) list(cmd *cobra.Command) error {
	all := learn.NewTraffic()
	err := o.with(cmd, func(ctx context.Context, s *traffic.Store) (err error) {
		all, err = s.Shapes(ctx)
		return err
	})
	switch {
	case err != nil:
		return err
	case o.json:
		return o.app.JSON(all)
	}
	var rows [][]string
	for _, p := range all.Proposals() {
		rows = append(rows, []string{cli.EscapeLine(p.Tool.Server), cli.EscapeLine(p.Tool.Name), fmt.Sprint(p.Replies)})
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(o.app.Stdout, "no run of this project has kept shapes of results")
		return err
	}
	return o.app.Table([]string{"SERVER", "TOOL", "RESULTS"}, rows)
}
