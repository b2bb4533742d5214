package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/internal/trust"
	"github.com/mcpgen/mcpgen/gen"
)

type trustOptions struct {
	app    *cli.App
	place  configFlags
	show   bool
	forget bool
}

func newTrustCmd(app *cli.App) *cobra.Command {
	o := &trustOptions{app: app}
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Read what the configuration starts and decides, and agree to it",
		Long: `trust lists the commands, addresses, variables, settings and rules of the project's configuration, and asks whether you trust
them. Until you do, nothing that they name is started or connected to. When the configuration changes, trust shows what
changed and asks again; so do sync, login, learn, mcprun and mcprun serve in a terminal. Without a terminal they refuse, with
exit code 126.

The answer is kept for you, outside of the project, in $XDG_STATE_HOME/mcpgen/trust. It does not cover the content of the
programs and scripts that the configuration names.

In CI and in containers, ` + trust.Variable + `=1 or --trust-config trusts a configuration without asking.

Exit codes: 0 trusted, 2 usage or configuration, 126 not trusted, 130 interrupted.`,
		Example: `  mcpgen trust
  mcpgen trust --show | less   # list everything, ask nothing
  mcpgen trust --forget        # ask again the next time`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.show && o.forget {
				return cli.Usage(cmd, "--show and --forget cannot be combined")
			}
			return o.run(cmd.Context())
		},
	}
	o.place.bind(cmd)
	cmd.Flags().BoolVar(&o.show, "show", false, "list everything, and ask nothing")
	cmd.Flags().BoolVar(&o.forget, "forget", false, "no longer trust the configuration")
	return cmd
}

func (o *trustOptions) run(ctx context.Context) error {
	cfg, err := gen.LoadConfig(o.place.options(o.app))
	if err != nil {
		return err
	}
	gate, dir := o.place.gate(o.app), cli.EscapeLine(cfg.Dir)
	switch {
	case o.show:
		return gate.Show(cfg)
	case o.forget:
		had, err := gate.Forget(cfg)
		if err == nil && !had {
			err = errors.New("the configuration in " + dir + " was not trusted")
		}
		return err
	}
	if err := gate.Check(ctx, cfg); err != nil {
		return err
	}
	_, err = fmt.Fprintln(o.app.Stdout, "the configuration in "+dir+" is trusted")
	return err
}
