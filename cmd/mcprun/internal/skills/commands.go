// Package skills has the commands about saved scripts, and decides which skills a script sees ([Show]). The skills themselves
// are in runner/skill.
package skills

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/runner/skill"
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
		Use: "search WORDS...", Short: "Search skills by name, triggers and description",
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
