// Package skills has the commands about saved scripts, and decides which skills a script sees ([Show]). The skills themselves
// are in runner/skill.
package skills

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/runner/skill"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

const skillHelp = `A skill is a saved script: a folder skills/NAME with SKILL.md in the Agent Skills format, and
scripts/. Scripts import it: in TypeScript from "./skills/save-sheet-as-csv", in Python from
skills.save_sheet_as_csv. A skill without scripts is instructions for an agent.

A skill stores which tools it uses. If one of them changes, the skill is broken: it is listed
with the reason, and a script that imports it gets a warning. If a tool is gone, the script is
refused. To repair a skill, edit it and run: mcprun skill save NAME`

// NewCommand returns `mcprun skill`.
func NewCommand(app *cli.App, at resources.Provider) *cobra.Command {
	cmd := &cobra.Command{
		Use: "skill", Short: "Save, list, search, check and link skills",
		Long: skillHelp,
		Example: `  mcprun skill save save-sheet-as-csv sheet.ts -d "Save a sheet as CSV."
  mcprun skill list
  mcprun skill link mcp-progressive-discovery`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSkillSaveCmd(app, at), newSkillListCmd(app, at), newSkillShowCmd(app, at), newSkillSearchCmd(app, at),
		newSkillCheckCmd(app, at), newSkillRmCmd(app, at), newSkillLinkCmd(app, at))
	return cmd
}

// skillOptions are the flags that the commands about skills share.
type skillOptions struct {
	app *cli.App
	at  resources.Provider
	project.LocationFlags
	CheckFlags
	customers.FolderFlags
	customer string
	json     bool

	cmd     *cobra.Command
	project *project.Project
}

func (o *skillOptions) bind(cmd *cobra.Command) {
	o.cmd = cmd
	f := cmd.Flags()
	o.LocationFlags.Bind(f)
	f.Var(flags.ID(&o.customer, "customer", "id"), "customer", "use this customer's skills, then those of the project")
	o.FolderFlags.Bind(f)
	f.BoolVar(&o.json, "json", false, "print one JSON value")
	f.SortFlags = false
}

// names completes up to most names of skills. Zero means any number.
func (o *skillOptions) names(most int) cobra.CompletionFunc {
	return cli.CompleteArgs(most, func() ([]string, error) {
		store, err := o.store()
		if err != nil {
			return nil, err
		}
		defer o.project.Close()
		all, err := store.Search("")
		names := make([]string, 0, len(all))
		for _, k := range all {
			names = append(names, k.Name)
		}
		return names, err
	})
}

// bindCheckers registers the flags that name type checkers.
func (o *skillOptions) bindCheckers(f *pflag.FlagSet) {
	f.Var(flags.Text(&o.TSC, "program"), "tsc", "the TypeScript compiler (default: the project's, tsc on PATH, or the installed one)")
	f.Var(flags.Text(&o.Pyright, "program"), "pyright", "the Python checker (default: the project's, pyright on PATH, or the installed one)")
}

// store opens the skills. The caller calls o.project.Close.
func (o *skillOptions) store() (*skill.Store, error) {
	p, err := o.LocationFlags.OpenToRead(o.app, o.at, o.app.Stderr)
	if err != nil {
		return nil, err
	}
	o.project = p
	store, err := o.storeOf(p)
	if err != nil {
		_ = p.Close() // nothing was connected
		return nil, err
	}
	return store, nil
}

// checkedStore is store for a command that starts the type checkers that the configuration names.
func (o *skillOptions) checkedStore(ctx context.Context) (*skill.Store, error) {
	store, err := o.store()
	if err != nil || o.project.Cfg == nil {
		return store, err
	}
	if err := o.Consent(ctx, o.app, o.at, o.project.Cfg); err != nil {
		return nil, errors.Join(err, o.project.Close())
	}
	return store, nil
}

func (o *skillOptions) storeOf(p *project.Project) (*skill.Store, error) {
	if err := flags.ApplyDefaults(o.app, o.cmd.Flags(), &p.Settings); err != nil {
		return nil, err
	}
	var own *customer.Customer
	if o.customer != "" {
		root, err := o.FolderFlags.Open(o.app, p.Base, p.Upstreams, nil)
		if err != nil {
			return nil, err
		}
		p.OnClose(root.Close)
		if own, err = root.Find(o.customer); err != nil {
			return nil, err
		}
	}
	return OpenFor(o.app, &o.LocationFlags, p, own, o.CheckFlags)
}

func newSkillListCmd(app *cli.App, at resources.Provider) *cobra.Command {
	o := &skillOptions{app: app, at: at}
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List skills and their problems",
		Example: "  mcprun skill list\n  mcprun skill list --json",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(*cobra.Command, []string) error { return o.list("") },
	}
	o.bind(cmd)
	return cmd
}

func newSkillSearchCmd(app *cli.App, at resources.Provider) *cobra.Command {
	o := &skillOptions{app: app, at: at}
	cmd := &cobra.Command{
		Use: "search WORDS...", Short: "Search skills by name and description",
		Example: "  mcprun skill search save sheet csv",
		Args:    cli.Args(cobra.MinimumNArgs(1)),
		RunE:    func(_ *cobra.Command, args []string) error { return o.list(strings.Join(args, " ")) },
	}
	o.bind(cmd)
	return cmd
}

// list prints the skills that match a query.
func (o *skillOptions) list(query string) error {
	store, err := o.store()
	if err != nil {
		return err
	}
	defer o.project.Close()
	found, err := store.Search(query)
	if err != nil {
		return err
	}
	if o.json {
		if found == nil {
			found = []*skill.Skill{}
		}
		return o.app.JSON(map[string]any{"skills": found})
	}
	if len(found) == 0 {
		_, err := fmt.Fprintln(o.app.Stdout, "no skills")
		return err
	}
	style, rows := o.app.OutStyle(), [][]string{}
	width := max(30, o.app.Columns()-50)
	if o.app.Columns() == 0 {
		width = 200
	}
	for _, k := range found {
		rows = append(rows, []string{k.Name, languagesOf(k), fmt.Sprintf("%.12s", k.Version), originOf(k), cli.Shorten(cli.EscapeLine(k.Description), width)})
	}
	if err := cli.Table(o.app.Stdout, style, []string{"SKILL", "LANGUAGES", "VERSION", "FROM", "DESCRIPTION"}, rows); err != nil {
		return err
	}
	return o.printProblems(found)
}

// printProblems prints what is wrong with skills.
func (o *skillOptions) printProblems(all []*skill.Skill) error {
	style, w := o.app.OutStyle(), o.app.Stdout
	for _, k := range all {
		for _, line := range k.Suspicious {
			if _, err := fmt.Fprintf(w, "%s %s\n", style.Bold(cli.EscapeLine(k.Name)+":"), style.Yellow("suspicious: "+cli.EscapeLine(line))); err != nil {
				return err
			}
		}
		for _, r := range k.Marked {
			fmt.Fprintf(w, "%s %s\n", style.Bold(cli.EscapeLine(k.Name)+":"), style.Yellow("marked: "+cli.EscapeLine(r.Text)))
		}
		if !k.Broken {
			continue
		}
		state := style.Yellow("broken, may work")
		if k.Fatal() {
			state = style.Red("broken")
		}
		if _, err := fmt.Fprintf(w, "%s %s\n", style.Bold(cli.EscapeLine(k.Name)+":"), state); err != nil {
			return err
		}
		for _, r := range k.Reasons {
			fmt.Fprintf(w, "  %s\n", cli.EscapeLine(r.Text))
			for _, d := range r.Details {
				fmt.Fprintf(w, "    %s\n", style.Dim(cli.EscapeLine(d)))
			}
		}
	}
	return nil
}

func languagesOf(k *skill.Skill) string {
	texts := make([]string, len(k.Languages))
	for i, l := range k.Languages {
		texts[i] = string(l)
	}
	if len(texts) == 0 {
		return "text"
	}
	return strings.Join(texts, " ")
}

// originOf returns who saved a skill.
func originOf(k *skill.Skill) string {
	switch {
	case k.Shipped:
		return "mcprun"
	case k.Edited:
		return "edited"
	case k.Author == skill.AuthorScript || k.Author == skill.AuthorAgent:
		return k.Author
	}
	return "you"
}

func newSkillRmCmd(app *cli.App, at resources.Provider) *cobra.Command {
	o := &skillOptions{app: app, at: at}
	cmd := &cobra.Command{
		Use: "rm NAME...", Aliases: []string{"remove"}, Short: "Remove skills, their earlier versions and links to them",
		Example: "  mcprun skill rm save-sheet-as-csv",
		Args:    cli.Args(cobra.MinimumNArgs(1)),
		RunE:    func(_ *cobra.Command, args []string) error { return o.remove(args) },
	}
	o.bind(cmd)
	cmd.ValidArgsFunction = o.names(0)
	return cmd
}

func (o *skillOptions) remove(names []string) error {
	store, err := o.store()
	if err != nil {
		return err
	}
	defer o.project.Close()
	removed := []string{}
	for _, name := range names {
		k, err := store.Remove(name)
		if err != nil {
			return err
		}
		removed = append(removed, k.Name)
		for _, h := range skillHosts() {
			if _, err := store.Unlink(k, h.in(o.project.Base)); err != nil {
				return err
			}
		}
		if !o.json {
			fmt.Fprintf(o.app.Stdout, "removed %s\n", k.Name)
		}
	}
	if o.json {
		return o.app.JSON(map[string]any{"removed": removed})
	}
	return nil
}
