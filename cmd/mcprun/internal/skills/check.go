package skills

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/checkers"
	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/runner/script/check"
	"github.com/mcpgen/mcpgen/runner/skill"
)

// CheckFlags are the flags of a type check.
type CheckFlags struct {
	Check   bool
	TSC     string
	Pyright string
}

// Places returns where checkers are looked for in a project. Checkers in the project's own folder count only if there is a
// configuration: without one, nobody was asked whether the folder may start programs.
func (o *CheckFlags) Places(app *cli.App, p *project.Project) check.Places {
	own := ""
	if p.Cfg != nil {
		own = p.Base
	}
	places := checkers.Places(app, own)
	places.TSC, places.Pyright, places.Workspace = o.TSC, o.Pyright, p.Workspace
	return places
}

// Bind adds the flags to a command.
func (o *CheckFlags) Bind(f *pflag.FlagSet) {
	f.BoolVar(&o.Check, "check", false, "report type errors against the tree, and run nothing")
	o.BindCheckers(f)
}

// BindCheckers adds only the flags that name the programs.
func (o *CheckFlags) BindCheckers(f *pflag.FlagSet) {
	f.Var(flags.Text(&o.TSC, "program"), "tsc", "the TypeScript compiler that checks types (default: the project's, tsc on PATH, or the installed one)")
	f.Var(flags.Text(&o.Pyright, "program"), "pyright", "the Python checker that checks types (default: the project's, pyright on PATH, or the installed one)")
}

func newSkillCheckCmd(app *cli.App, at resources.Provider) *cobra.Command {
	o := &skillOptions{app: app, at: at}
	cmd := &cobra.Command{
		Use: "check [NAME...]", Short: "Check skills against the tree, and their types",
		Long: `check bundles each skill's scripts with the current tree, compares the tools that it uses
with those it was saved with, and checks its types if tsc or pyright is installed.
It exits with 1 when a skill is broken.`,
		Example: "  mcprun skill check\n  mcprun skill check save-sheet-as-csv --json",
		RunE:    func(_ *cobra.Command, args []string) error { return o.check(args) },
	}
	o.bindCheckers(cmd.Flags())
	o.bind(cmd)
	cmd.ValidArgsFunction = o.names(0)
	return cmd
}

func (o *skillOptions) check(names []string) error {
	store, err := o.checkedStore(o.cmd.Context())
	if err != nil {
		return err
	}
	defer o.project.Close()
	report, err := store.Check(o.cmd.Context(), names...)
	if err != nil {
		return err
	}
	broken := report.Broken()
	report.Warnings = append(report.Warnings, report.NotInstalled...)
	if o.json {
		err = o.app.JSON(map[string]any{"skills": append([]*skill.Skill{}, report.Skills...), "warnings": append([]string{}, report.Warnings...)})
	} else {
		err = o.printProblems(report.Skills)
		for _, line := range report.Warnings {
			fmt.Fprintf(o.app.Stderr, "mcprun: %s\n", cli.EscapeLine(line))
		}
		if len(broken) == 0 {
			fmt.Fprintf(o.app.Stdout, "%s checked, none broken\n", cli.Count(len(report.Skills), "skill"))
		}
	}
	if err == nil && len(broken) > 0 {
		return cli.Quiet(1)
	}
	return err
}
