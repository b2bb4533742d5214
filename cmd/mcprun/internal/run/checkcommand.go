package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/term"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/script/check"
	"github.com/mcpgen/mcpgen/runner/script/judge"
)

// checkCommand says what a script may do, and finds its type errors.
type checkCommand struct {
	*Options
	sarif             bool
	fail              string
	imports, commands []string
}

// NewCheckCommand returns the command check.
func NewCheckCommand(app *cli.App, at resources.Provider) *cobra.Command {
	o := &checkCommand{Options: &Options{App: app, Resources: at}, fail: risk.High.String()}
	cmd := &cobra.Command{
		Use: "check SCRIPT", Short: "Report what a script may do, and its type errors, without running it",
		Long: `check reads a script and the files that it imports, and says what it may do: which files,
hosts, commands and tools it uses, and how risky that is. It also finds type errors if
tsc or pyright is installed. The script is not run.
It is a guard rail and can be deceived; the sandbox is the security boundary.
The exit code is 1 for type errors, and for a risk of --fail-on or above.`,
		Example: "  mcprun check report.ts\n  mcprun check --restricted --json sync.py\n  mcprun check --sarif report.ts > report.sarif",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.args = args; len(args) != 1 && (o.code == "" || len(args) > 0) {
				return cli.Usage(cmd, "name one script, or give code with -e")
			}
			return o.run(cmd.Context())
		},
	}
	o.bind(cmd)
	return cmd
}

func (o *checkCommand) bind(cmd *cobra.Command) {
	o.Cmd = cmd
	o.bindShared()
	f := cmd.Flags()
	f.VarP(flags.Text(&o.code, "code"), "eval", "e", "check this code instead of a file")
	f.Var(flags.Text(&o.language, "name"), "language", "typescript or python (default: detected)")
	f.Var(flags.Text(&o.TSC, "program"), "tsc", "TypeScript's compiler (default the project's, tsc on PATH, or the installed one)")
	f.Var(flags.Text(&o.Pyright, "program"), "pyright", "type checker for Python (default the project's, pyright on PATH, or the installed one)")
	flags.BindSwitch(f, &o.Base.Restricted, "restricted", "also report what restricted scripts may not do, and fail on it")
	bindMaxBranches(f, &o.Base)
	f.StringArrayVar(&o.imports, "allow-import", nil, "report imports other than standard modules and those that match this `glob`")
	f.StringArrayVar(&o.commands, "allow-command", nil, "expect this `command`: a name, such as git, or a glob of all of it, such as 'git log *'")
	f.Var(flags.Choice(&o.fail, append(names(risk.All()), "never")...), "fail-on", "exit with 1 for this risk or above: "+words(risk.All())+", never")
	f.BoolVar(&o.JSON, "json", false, "print one JSON object")
	f.BoolVar(&o.sarif, "sarif", false, "print a SARIF log, for code hosts and editors")
	f.BoolVarP(&o.Quiet, "quiet", "q", false, "print nothing if nothing is wrong")
	o.LocationFlags.Bind(f)
}

// checked is the output of --json.
type checked struct {
	*judge.Report
	Problems []check.Problem `json:"problems"` // of types
	// Types is why the types were not checked; empty if they were.
	Types string `json:"types,omitempty"`
}

func (o *checkCommand) run(ctx context.Context) error {
	s := o.Base
	if err := o.readSource(ctx, &s); err != nil {
		return err
	}
	p, err := o.openProject(ctx, term.NewConsole(o.App))
	if err != nil {
		return err
	}
	defer p.Close()
	s.Restricted, s.MaxBranches = o.Base.Restricted, o.Base.MaxBranches
	// A run has the skills that come with the program, too, and judges them.
	if err := o.showSkillsOf(ctx, p, &s, func(string) {}); err != nil {
		return err
	}
	opt := judge.Options{Restricted: s.Restricted, Imports: o.imports}
	if len(o.commands) > 0 {
		opt.Commands = &judge.Commands{Allow: o.commands}
	}
	out, err := o.inspect(ctx, p, &s, opt)
	if err != nil {
		return err
	}
	switch {
	case o.sarif:
		dir := ""
		if len(o.args) > 0 && o.args[0] != "-" {
			if rel, err := filepath.Rel(o.App.Dir, filepath.Dir(o.App.Path(o.args[0]))); err == nil {
				dir = filepath.ToSlash(rel)
			}
		}
		var log []byte
		if log, err = out.SARIF(cli.Version(), dir); err == nil {
			_, err = fmt.Fprintf(o.App.Stdout, "%s\n", log)
		}
	case o.JSON:
		err = o.App.JSON(out)
	default:
		o.print(out)
	}
	least, never := risk.Parse(o.fail)
	failed := len(out.Problems) > 0 || never == nil && out.Risk >= least || s.Restricted && len(out.Refused()) > 0
	if err == nil && failed {
		return cli.Quiet(1)
	}
	return err
}

// inspect judges a script, and checks its types unless --type-errors=false.
func (o *Options) inspect(ctx context.Context, p *project.Project, s *runner.Script, opt judge.Options) (*checked, error) {
	at, leave, err := o.Host(ctx, p)
	if err != nil {
		return nil, err
	}
	defer leave()
	report, err := at.Runner.Judge(ctx, s, at.backends, opt)
	if err != nil {
		return nil, err
	}
	out := &checked{Report: report, Problems: []check.Problem{}}
	if !o.checkRuns {
		return out, nil
	}
	found, err := o.typeErrors(ctx, p, s)
	if missing, ok := errors.AsType[*check.MissingError](err); ok {
		out.Types = missing.Error()
		return out, nil
	}
	out.Problems = append(out.Problems, found...)
	return out, err
}

func (o *checkCommand) print(out *checked) {
	w, style := o.App.Stdout, o.App.OutStyle()
	for _, f := range out.Findings {
		fmt.Fprintf(w, "%s %s: %s %s\n", style.Cyan(fmt.Sprintf("%s:%d:%d:", cli.EscapeLine(f.File), f.Line, f.Column)), f.Risk, cli.EscapeLine(f.Reason), style.Dim("("+f.Rule+")"))
	}
	if len(out.Problems) > 0 {
		printProblems(w, style, out.Problems)
	}
	if o.Quiet {
		return
	}
	im := out.Impact
	for _, part := range []struct {
		name string
		list []string
	}{{"reads", im.Reads}, {"writes", im.Writes}, {"deletes", im.Deletes}, {"hosts", im.Hosts}, {"commands", im.Commands}, {"tools", im.Tools}} {
		if len(part.list) > 0 {
			fmt.Fprintf(w, "%s: %s\n", part.name, cli.EscapeLine(strings.Join(part.list, ", ")))
		}
	}
	changes := "no change of data found"
	if im.ChangesData {
		changes = "may change data; reversible: " + im.Reversible
	}
	fmt.Fprintf(w, "%s: %s; %s\n", style.Bold("risk "+out.Risk.String()), cli.EscapeLine(out.Reason), changes)
	if out.Types != "" {
		fmt.Fprintf(o.App.Stderr, "mcprun: types were not checked: %s\n", cli.EscapeLine(out.Types))
	}
}
