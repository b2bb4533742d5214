package run

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/term"
)

// NewResumeCommand returns the command session resume.
func NewResumeCommand(app *cli.App, at resources.Provider) *cobra.Command {
	o := &Options{App: app, Resources: at}
	o.Resumes = true
	cmd := &cobra.Command{
		Use: "resume SESSION [SCRIPT] [-- ARGS...]", Short: "Run a script in an existing session",
		Long: `Runs a script in the state of the session's customer, and logs it in that session.
--restore restores a checkpoint first; a script is then optional.
All flags of mcprun run are accepted: see mcprun run --help --all.`,
		Example: `  mcprun session resume 20261003-120000-abc123 next.ts
  mcprun session resume onboarding --customer acme --restore=before-import next.ts
  mcprun session resume onboarding --restore      only restore the last checkpoint`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage(cmd, "name the session; mcprun session list has all")
			}
			o.Session, o.args = args[0], args[1:]
			if o.code == "" && len(o.args) == 0 {
				return o.restoreOnly(cmd.Context())
			}
			return o.run(cmd.Context())
		},
	}
	o.Bind(cmd)
	return cmd
}

// restoreOnly restores a checkpoint and runs nothing.
func (o *Options) restoreOnly(ctx context.Context) error {
	if o.Restore == "" {
		return cli.Usage(o.Cmd, "name a script, give code with -e, or restore a checkpoint with --restore")
	}
	if o.Checkpoint != "" {
		return cli.Usage(o.Cmd, "--checkpoint needs a script")
	}
	con := term.NewConsole(o.App)
	project, err := o.openProject(ctx, con)
	if err != nil {
		return err
	}
	defer project.Close()
	root, err := o.FolderFlags.Open(o.App, project.Base, project.State, project.Upstreams, nil, o.printer(con))
	if err != nil {
		return err
	}
	defer root.Close()
	s, err := o.Find(root)
	if err != nil {
		return err
	}
	if o.Task != "" {
		err = o.LogTask(s)
	}
	return errors.Join(err, o.PutBack(ctx, s, o.printer(con)))
}
