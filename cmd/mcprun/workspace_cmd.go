package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

const workspaceHelp = `A customer is one for whom scripts run: a user, a client, a project. Each has a folder
of its own below workspaces/, apart from all others: state is what scripts write,
sessions, skills and vault are mcprun's. A run with --customer ID makes it.`

func newWorkspaceCmd(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "workspace", Short: "Look after customers' folders: list, show, gc, export, import",
		Long: workspaceHelp,
		Example: `  mcprun run --customer acme report.ts       makes the customer, and a session
  mcprun workspace list
  mcprun workspace gc --idle 30d --dry-run`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newWorkspaceListCmd(app), newWorkspaceShowCmd(app), newWorkspaceGCCmd(app), newWorkspaceExportCmd(app), newWorkspaceImportCmd(app))
	return cmd
}

func newWorkspaceListCmd(app *cli.App) *cobra.Command {
	o := &customersCommand{app: app}
	cmd := &cobra.Command{
		Use: "list", Short: "List the customers, and what they take",
		Example: "  mcprun workspace list\n  mcprun workspace list --json",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.list(cmd) },
	}
	o.bind(cmd)
	return cmd
}

func (o *customersCommand) list(cmd *cobra.Command) error {
	root, err := o.openRoot(cmd, false)
	if err != nil {
		return err
	}
	defer root.Close()
	list, err := root.List()
	if err != nil {
		return err
	}
	infos := []*workspace.Info{}
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
		_, err := fmt.Fprintf(o.app.Stdout, "no customers in %s\n", cli.CleanLine(root.Dir()))
		return err
	}
	var rows [][]string
	for _, i := range infos {
		rows = append(rows, []string{i.ID, ofQuota(i), ago(time.Now(), i.LastUsed), fmt.Sprint(i.SessionCount), running(i.Runs)})
	}
	return fitted(o.app, []string{"CUSTOMER", "TAKES", "LAST USED", "SESSIONS", ""}, rows)
}

// ofQuota says what a customer takes of its quota.
func ofQuota(i *workspace.Info) string {
	return fmt.Sprintf("%s (%d %%)", byteCount(int(i.Usage.Total())), i.Usage.Total()*100/i.Quota)
}

func running(runs int) string {
	if runs == 0 {
		return ""
	}
	return cli.Count(runs, "run") + " under way"
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
	return cmd
}

func (o *customersCommand) show(cmd *cobra.Command, id string) error {
	root, err := o.openRoot(cmd, false)
	if err != nil {
		return err
	}
	defer root.Close()
	c, err := root.Find(id)
	if err != nil {
		return err
	}
	info, err := c.Info(cmd.Context())
	if err != nil {
		return err
	}
	if o.json {
		return o.app.JSON(info)
	}
	style, w := o.app.OutStyle(), o.app.Stdout
	fmt.Fprintf(w, "%s  %s of %s\n%s\n", style.Bold(info.ID), byteCount(int(info.Usage.Total())), byteCount(int(info.Quota)), cli.CleanLine(info.Dir))
	rows := [][]string{
		{"  state", byteCount(int(info.Usage.State)), cli.Count(info.Usage.Files, "file or folder")},
		{"  sessions", byteCount(int(info.Usage.Sessions)), cli.Count(len(info.Sessions), "session")},
		{"  skills", byteCount(int(info.Usage.Skills)), ""},
		{"  vault", byteCount(int(info.Usage.Vault)), ""},
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
	idle     days
	dryRun   bool
	customer string
}

func newWorkspaceGCCmd(app *cli.App) *cobra.Command {
	o := &gcCommand{customersCommand: customersCommand{app: app}}
	cmd := &cobra.Command{
		Use: "gc --idle TIME", Short: "Remove sessions and state that nobody used for a while",
		Long: `Removes sessions, with their checkpoints, to whose log nothing was written for the
time given, and empties the state of customers who were not used for that long.
Skills and vaults stay. A customer is passed over while a run of its is under way.`,
		Example: "  mcprun workspace gc --idle 30d --dry-run    say what would go\n  mcprun workspace gc --idle 30d",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.bind(cmd)
	f := cmd.Flags()
	f.Var(&o.idle, "idle", "unused for so long: days such as 30d, or a duration such as 12h")
	f.Var(idWord{&o.customer, "customer", "id"}, "customer", "look at this customer only")
	f.BoolVar(&o.dryRun, "dry-run", false, "remove nothing, and say what would be removed")
	return cmd
}

func (o *gcCommand) run(cmd *cobra.Command) error {
	if o.idle == 0 {
		return cli.Usage(cmd, "say with --idle after what time something counts as unused, such as --idle 30d")
	}
	root, err := o.openRoot(cmd, false)
	if err != nil {
		return err
	}
	defer root.Close()
	removed, err := root.GC(cmd.Context(), workspace.GCOptions{Idle: time.Duration(o.idle), DryRun: o.dryRun, Customer: o.customer})
	if o.json {
		return errors.Join(err, o.app.JSON(map[string]any{"dryRun": o.dryRun, "removed": removed}))
	}
	o.say(removed)
	return err
}

func (o *gcCommand) say(removed []workspace.Removed) {
	style, w, bytes := o.app.OutStyle(), o.app.Stdout, int64(0)
	verb := "removed"
	if o.dryRun {
		verb = "would be removed"
	}
	for _, r := range removed {
		bytes += r.Bytes
		if r.Busy > 0 {
			fmt.Fprintf(w, "%s  %s\n", style.Bold(r.Customer), style.Yellow("passed over: "+running(r.Busy)))
			continue
		}
		fmt.Fprintf(w, "%s  %s %s\n", style.Bold(r.Customer), byteCount(int(r.Bytes)), verb)
		if r.State {
			fmt.Fprintf(w, "  the state: %d files and folders\n", r.Files)
		}
		for _, s := range r.Sessions {
			fmt.Fprintf(w, "  session %s\n", s)
		}
	}
	switch {
	case bytes == 0:
		fmt.Fprintf(w, "nothing was unused for %s\n", o.idle.String())
	case len(removed) > 1:
		fmt.Fprintf(w, "together %s\n", byteCount(int(bytes)))
	}
}

type exportCommand struct {
	customersCommand
	file string
}

func newWorkspaceExportCmd(app *cli.App) *cobra.Command {
	o := &exportCommand{customersCommand: customersCommand{app: app}}
	cmd := &cobra.Command{
		Use: "export CUSTOMER", Short: "Write all that is kept of a customer to a tar",
		Long: `Writes state, sessions, skills and vault of a customer as one tar. The vault stays sealed;
its key is not in the tar. Runs of the customer that begin meanwhile wait.`,
		Example: "  mcprun workspace export acme -o acme.tar\n  mcprun workspace export acme -o - | zstd >acme.tar.zst",
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.bind(cmd)
	cmd.Flags().VarP(word{&o.file, "file"}, "output", "o", "the tar, which must not be there yet; - is standard output (default CUSTOMER.tar)")
	return cmd
}

func (o *exportCommand) run(cmd *cobra.Command, id string) error {
	root, err := o.openRoot(cmd, false)
	if err != nil {
		return err
	}
	defer root.Close()
	c, err := root.Find(id)
	if err != nil {
		return err
	}
	if o.file == "-" {
		if o.app.Terminal.Stdout {
			return cli.Usage(cmd, "a tar is nothing for a terminal: name a file with -o")
		}
		_, err := c.Export(cmd.Context(), o.app.Stdout)
		return err
	}
	if o.file == "" {
		o.file = id + ".tar"
	}
	done, err := exportTo(cmd.Context(), c, o.app.Path(o.file))
	if err != nil {
		return err
	}
	return o.said(done, "wrote "+o.file)
}

// exportTo writes a new file that only its owner reads, whole or not at all.
func exportTo(ctx context.Context, c *workspace.Customer, path string) (done *workspace.Exported, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("begin the tar: %w", err)
	}
	done, err = c.Export(ctx, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return done, nil
}

// said tells what was exported or imported.
func (o *customersCommand) said(done *workspace.Exported, what string) error {
	if o.json {
		return o.app.JSON(done)
	}
	text := fmt.Sprintf("%s: %s, %s", cli.CleanLine(what), cli.Count(done.Files, "file"), byteCount(int(done.Bytes)))
	if done.Skipped > 0 {
		text += fmt.Sprintf("; %d left out (%s)", done.Skipped, cli.CleanLine(done.Example))
	}
	_, err := fmt.Fprintln(o.app.Stdout, text)
	return err
}

type importCommand struct {
	customersCommand
	as string
}

func newWorkspaceImportCmd(app *cli.App) *cobra.Command {
	o := &importCommand{customersCommand: customersCommand{app: app}}
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Make a customer from a tar that export wrote",
		Long: `Makes a customer from a tar of mcprun workspace export. There must be none of its id yet;
--as gives it another. A tar with links, devices, names that lead elsewhere or come twice,
or more than --quota, is refused whole.`,
		Example: "  mcprun workspace import acme.tar\n  mcprun workspace import acme.tar --as acme-copy\n  zstd -dc acme.tar.zst | mcprun workspace import -",
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.bind(cmd)
	cmd.Flags().Var(idWord{&o.as, "customer", "id"}, "as", "the customer's id (default the one in the tar)")
	return cmd
}

func (o *importCommand) run(cmd *cobra.Command, name string) error {
	from, what := io.Reader(o.app.Stdin), "standard input"
	if name != "-" {
		what = filepath.Base(name)
		f, err := os.Open(o.app.Path(name))
		if err != nil {
			return fmt.Errorf("open the tar: %w", err)
		}
		defer f.Close()
		from = f
	}
	root, err := o.openRoot(cmd, true)
	if err != nil {
		return err
	}
	defer root.Close()
	done, err := root.Import(cmd.Context(), from, o.as)
	if err != nil {
		return err
	}
	return o.said(done, fmt.Sprintf("customer %s from %s", done.Customer, what))
}
