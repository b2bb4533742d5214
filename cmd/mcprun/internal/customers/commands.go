package customers

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/runner/form"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

const workspaceHelp = `A customer is a user, client or project for which scripts run. Each has a folder in
workspaces/: scripts write to state; mcprun writes sessions, skills and vault.
A run with --customer ID creates it.`

// NewCommand returns `mcprun workspace`.
func NewCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "workspace", Short: "Manage customers' folders",
		Long: workspaceHelp,
		Example: `  mcprun run --customer acme report.ts       create the customer, and a session
  mcprun workspace list
  mcprun workspace gc --idle 30d --dry-run`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newWorkspaceListCmd(app), newWorkspaceShowCmd(app), newWorkspaceGCCmd(app))
	return cmd
}

func newWorkspaceListCmd(app *cli.App) *cobra.Command {
	o := &customersCommand{app: app}
	cmd := &cobra.Command{
		Use: "list", Short: "List customers and their disk usage",
		Example: "  mcprun workspace list\n  mcprun workspace list --json",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.list(cmd) },
	}
	o.bind(cmd)
	return cmd
}

func (o *customersCommand) list(cmd *cobra.Command) error {
	root, err := o.openRoot(cmd)
	if err != nil {
		return err
	}
	defer root.Close()
	list, err := root.List()
	if err != nil {
		return err
	}
	infos := []*customer.Info{}
	for _, c := range list {
		info, err := c.Summary(cmd.Context())
		if err != nil {
			return err
		}
		infos = append(infos, info)
	}
	if o.json {
		return o.app.JSON(map[string]any{"customers": infos})
	}
	if len(infos) == 0 {
		_, err := fmt.Fprintf(o.app.Stdout, "no customers in %s\n", cli.EscapeLine(root.Dir()))
		return err
	}
	var rows [][]string
	for _, i := range infos {
		rows = append(rows, []string{i.ID, ofQuota(i), ago(time.Now(), i.LastUsed), fmt.Sprint(i.SessionCount), running(i.Runs)})
	}
	return o.app.Table([]string{"CUSTOMER", "TAKES", "LAST USED", "SESSIONS", ""}, rows)
}

// ofQuota describes how much of its quota a customer uses.
func ofQuota(i *customer.Info) string {
	return fmt.Sprintf("%s (%d %%)", flags.Bytes(int(i.Usage.Total())), i.Usage.Total()*100/i.Quota)
}

func running(runs int) string {
	if runs == 0 {
		return ""
	}
	return cli.Count(runs, "run") + " in progress"
}

func newWorkspaceShowCmd(app *cli.App) *cobra.Command {
	o := &customersCommand{app: app}
	cmd := &cobra.Command{
		Use: "show CUSTOMER", Short: "Show one customer: folders, sizes, sessions",
		Example: "  mcprun workspace show acme",
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.show(cmd, args[0]) },
	}
	o.bind(cmd)
	cmd.ValidArgsFunction = cli.CompleteArgs(1, o.customers(cmd))
	return cmd
}

func (o *customersCommand) show(cmd *cobra.Command, id string) error {
	root, c, err := o.openCustomer(cmd, id)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := c.Info(cmd.Context())
	if err != nil {
		return err
	}
	if o.json {
		return o.app.JSON(info)
	}
	style, w := o.app.OutStyle(), o.app.Stdout
	fmt.Fprintf(w, "%s  %s of %s\n%s\n", style.Bold(info.ID), flags.Bytes(int(info.Usage.Total())), flags.Bytes(int(info.Quota)), cli.EscapeLine(info.Dir))
	rows := [][]string{
		{"  state", flags.Bytes(int(info.Usage.State)), cli.Count(info.Usage.Files, "file or folder")},
		{"  sessions", flags.Bytes(int(info.Usage.Sessions)), cli.Count(len(info.Sessions), "session")},
		{"  skills", flags.Bytes(int(info.Usage.Skills)), ""},
		{"  vault", flags.Bytes(int(info.Usage.Vault)), ""},
	}
	if info.Usage.Files != 1 {
		rows[0][2] = fmt.Sprintf("%d files and folders", info.Usage.Files)
	}
	if err := cli.Table(w, style, nil, rows); err != nil {
		return err
	}
	if info.Runs > 0 {
		fmt.Fprintf(w, "  %s\n", style.Yellow(running(info.Runs)))
	}
	if len(info.Sessions) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	return printSessions(o.app, info.Sessions, false)
}

type gcCommand struct {
	customersCommand
	idle     time.Duration
	dryRun   bool
	customer string
}

func newWorkspaceGCCmd(app *cli.App) *cobra.Command {
	o := &gcCommand{customersCommand: customersCommand{app: app}}
	cmd := &cobra.Command{
		Use: "gc --idle TIME", Short: "Remove sessions and state that have not been used for a while",
		Long: `Removes sessions whose logs have not changed for the given time, with their checkpoints, and
forms that have not changed for it. It empties the state of customers that have not been used
for that time. Skills and vaults stay. Customers with a run in progress are skipped.`,
		Example: "  mcprun workspace gc --idle 30d --dry-run    list what would be removed\n  mcprun workspace gc --idle 30d",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.bind(cmd)
	f := cmd.Flags()
	f.Var(flags.WithUnit(&o.idle), "idle", "remove what has been unused for this time, such as 30d or 12h")
	f.Var(flags.ID(&o.customer, "customer", "id"), "customer", "clean up this customer only")
	f.BoolVar(&o.dryRun, "dry-run", false, "remove nothing, and list what would be removed")
	cli.CompleteFlag(cmd, "customer", o.customers(cmd))
	return cmd
}

func (o *gcCommand) run(cmd *cobra.Command) error {
	if o.idle == 0 {
		return cli.Usage(cmd, "--idle is required: the time after which something counts as unused, such as --idle 30d")
	}
	root, err := o.openRoot(cmd)
	if err != nil {
		return err
	}
	defer root.Close()
	removed, err := root.GC(cmd.Context(), customer.GCOptions{Idle: o.idle, DryRun: o.dryRun, Customer: o.customer, Forms: form.Sweep})
	if o.json {
		return errors.Join(err, o.app.JSON(map[string]any{"dryRun": o.dryRun, "removed": removed}))
	}
	o.say(removed)
	return err
}

func (o *gcCommand) say(removed []customer.Removed) {
	style, w, bytes, busy := o.app.OutStyle(), o.app.Stdout, int64(0), 0
	verb := "removed"
	if o.dryRun {
		verb = "would be removed"
	}
	for _, r := range removed {
		bytes += r.Bytes
		if busy += r.Busy; r.Busy > 0 {
			fmt.Fprintf(w, "%s  %s\n", style.Bold(r.Customer), style.Yellow("skipped: "+running(r.Busy)))
			continue
		}
		fmt.Fprintf(w, "%s  %s %s\n", style.Bold(r.Customer), flags.Bytes(int(r.Bytes)), verb)
		if r.State {
			fmt.Fprintf(w, "  the state: %d files and folders\n", r.Files)
		}
		if r.Forms > 0 {
			fmt.Fprintf(w, "  %s\n", cli.Count(r.Forms, "form"))
		}
		for _, s := range r.Sessions {
			fmt.Fprintf(w, "  session %s\n", s)
		}
	}
	switch {
	case bytes == 0 && busy > 0:
	case bytes == 0:
		fmt.Fprintf(w, "nothing was unused for %s\n", flags.FormatDuration(o.idle))
	case len(removed) > 1:
		fmt.Fprintf(w, "together %s\n", flags.Bytes(int(bytes)))
	}
}

const day = 24 * time.Hour
