package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/internal/trust"
	"github.com/mcpgen/mcpgen/gen"
)

type logoutOptions struct {
	app   *cli.App
	place configFlags
}

func newLogoutCmd(app *cli.App) *cobra.Command {
	o := &logoutOptions{app: app}
	cmd := &cobra.Command{
		Use:   "logout SERVER",
		Short: "Forget the login of a server",
		Long: `logout revokes the tokens of a server, if its authorization server supports that, and removes them. They are removed even if
the authorization server cannot be reached.`,
		Example: `  mcpgen logout linear`,
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	o.place.bind(cmd)
	trust.Bind(cmd.Flags(), &o.place.trusted)
	cmd.ValidArgsFunction = cli.CompleteArgs(1, configuredServers(app, &o.place))
	return cmd
}

func (o *logoutOptions) run(ctx context.Context, server string) error {
	up := upstreamOptions(o.app)
	if up.Logins == nil {
		_, err := o.app.StateDir()
		return err
	}
	found, told, err := gen.Logout(ctx, o.place.options(o.app), up, server)
	if err != nil {
		return err
	}
	text := "logged out of " + cli.EscapeLine(server)
	switch {
	case !found:
		text = "there was no login to " + cli.EscapeLine(server)
	case told != nil:
		text += "; its authorization server could not be notified, so the tokens may work until they expire: " + cli.EscapeLine(told.Error())
	}
	_, err = fmt.Fprintln(o.app.Stdout, text)
	return err
}
