// Package policies has the commands that examine a policy before it is used: policy show, explain, test and diff.
package policies

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/risk"
)

// NewCommand returns the command policy.
func NewCommand(app *cli.App, at resources.Provider) *cobra.Command {
	cmd := &cobra.Command{
		Use: "policy", Short: "Test which calls the policy allows",
		Long: `Tests the rules in policy: of mcpgen.yaml, which allow calls, deny them, or ask a person first.
No tool is called.`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newShow(app, at), newExplain(app, at), newTest(app, at), newDiff(app, at))
	return cmd
}

// command holds what the commands share.
type command struct {
	app  *cli.App
	host resources.Provider
	project.LocationFlags
	file string
	json bool

	plugins []config.Plugin // of the project, once it is loaded
}

func (o *command) bind(f *pflag.FlagSet) {
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	o.LocationFlags.Bind(f)
}

func (o *command) bindFile(f *pflag.FlagSet) {
	f.Var(flags.Text(&o.file, "file"), "policy", "the policy of this file instead of the project's")
}

// load returns the project and its tree.
func (o *command) load() (*project.Project, *gen.Tree, error) {
	p, err := o.OpenToRead(o.app, o.host, o.app.Stderr)
	if err != nil {
		return nil, nil, err
	}
	defer p.Close()
	o.plugins = p.Settings.Plugins
	if p.Tree == "" {
		return nil, nil, cli.WithHint(fmt.Errorf("there is no generated tree in %q", p.Wanted), "make one with mcpgen sync, or name it with --servers")
	}
	tree, err := gen.Open(gen.Options{Out: p.Tree})
	if err != nil {
		return nil, nil, err
	}
	return p, tree, nil
}

// open returns the tools of the project's tree, and its policy or that of --policy.
func (o *command) open() ([]policy.Tool, *policy.Policy, error) {
	p, tree, err := o.load()
	if err != nil {
		return nil, nil, err
	}
	tools := chain.New(chain.Options{Catalog: tree.Catalog, Servers: p.Servers}).Tools()
	if o.file == "" {
		return tools, p.Policy, nil
	}
	own, _, err := o.read(o.file)
	return tools, own, err
}

// read reads a policy from a file, and the settings beside it.
func (o *command) read(path string) (*policy.Policy, *config.Settings, error) {
	settings, err := config.ReadPolicy(o.app.Path(path))
	if err != nil {
		return nil, nil, err
	}
	p, err := policy.New(&settings.Policy, nil)
	return p, settings, err
}

// explain explains the decision about one call.
type explain struct {
	command
	args    string
	riskOf  string
	example policy.Example
}

func newExplain(app *cli.App, at resources.Provider) *cobra.Command {
	o := &explain{command: command{app: app, host: at}}
	cmd := &cobra.Command{
		Use: "explain TOOL [NAME=VALUE...]", Short: "Show the decision on a call, and how each rule applies to it",
		Example: `  mcprun policy explain crm__delete_record record_id=0015f01
  mcprun policy explain bank__transfer --args '{"amount": 20000}' --customer acme --taint web
  mcprun policy explain drive__resources/read uri=drive://reports/7`,
		Args: cli.Args(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error { return o.run(args[0], args[1:]) },
	}
	f := cmd.Flags()
	f.Var(flags.Text(&o.args, "json"), "args", "the arguments, as a JSON object")
	f.StringVar(&o.example.Customer, "customer", "", "the customer that the run is for")
	f.StringVar(&o.example.Session, "session", "", "the session of the run")
	f.Var(flags.Text(&o.riskOf, "level"), "risk", "the risk of the script: low, medium, high or critical")
	f.StringArrayVar(&o.example.Taint, "taint", nil, "a server whose data the run has read")
	f.IntVar(&o.example.Calls, "calls", 0, "how many calls the run has made")
	f.IntVar(&o.example.Made, "made", 0, "how many calls that count for rules with over: were made before")
	o.bindFile(f)
	o.bind(f)
	cmd.ValidArgsFunction = cli.CompleteArgs(1, func() ([]string, error) {
		tools, _, err := o.open()
		ids := make([]string, 0, len(tools))
		for i := range tools {
			ids = append(ids, tools[i].ID)
		}
		return ids, err
	})
	return cmd
}

func (o *explain) run(id string, pairs []string) error {
	tools, p, err := o.open()
	if err != nil {
		return err
	}
	tool, err := find(tools, id)
	if err != nil {
		return err
	}
	if o.example.Risk, err = risk.Parse(o.riskOf); err != nil {
		return flags.Usage("--risk: %w", err)
	}
	if o.example.Args, err = validate.ParseArguments(tool.Input, json.RawMessage(o.args), pairs); err != nil {
		return flags.Usage("%w", err)
	}
	warning, err := p.CheckNames(tools, &o.example)
	if err != nil {
		return flags.Usage("--taint: %w", err)
	}
	if warning != "" {
		fmt.Fprintln(o.app.Stderr, "mcprun: --customer: "+cli.EscapeLine(warning))
	}
	o.warn(p, tools)
	d, rules := p.Explain(tool, &o.example)
	if o.json {
		return o.app.JSON(map[string]any{"tool": id, "decision": d, "rules": rules})
	}
	fmt.Fprintf(o.app.Stdout, "%s: %s\n", id, verdict(d))
	rows := make([][]string, 0, len(rules))
	for _, r := range rules {
		fits := "applies"
		if !r.Fits {
			fits = r.Why
		}
		rows = append(rows, []string{"  " + string(r.Effect), r.Rule, r.At, fits})
	}
	if err := o.app.Table(nil, rows); err != nil {
		return err
	}
	for i := range o.plugins {
		if c := &o.plugins[i]; c.Judges(tool.ID, tool.Name) {
			fmt.Fprintf(o.app.Stdout, "plugin %s is asked before: mcprun plugin check\n", c.Name)
		}
	}
	return nil
}

// verdict describes a decision.
func verdict(d policy.Decision) string {
	text := string(d.Effect)
	if d.Rule != "" {
		text += ", by " + d.Source()
	}
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return cli.EscapeLine(text)
}

// warn warns of names in rules that are likely misspelt.
func (o *command) warn(p *policy.Policy, tools []policy.Tool) {
	for _, line := range p.Misspelt(func() []policy.Tool { return tools }) {
		fmt.Fprintln(o.app.Stderr, "mcprun: "+cli.EscapeLine(line))
	}
}

func find(tools []policy.Tool, id string) (*policy.Tool, error) {
	var known []string
	for i := range tools {
		if tools[i].ID == id {
			return &tools[i], nil
		}
		known = append(known, tools[i].ID)
	}
	return nil, &cli.UsageError{Err: fmt.Errorf("no tool %q in the tree; mcprun call --list lists all", id), Command: "mcprun policy explain", Near: cli.Near(id, known)}
}

func newTest(app *cli.App, at resources.Provider) *cobra.Command {
	o := &command{app: app, host: at}
	cmd := &cobra.Command{
		Use: "test CASES", Short: "Test a policy with a file of cases",
		Long: `Reads a list of calls, each with the decision that the policy must make:

  cases:
    - tool: crm__delete_record
      args: {object_type: Account, record_id: 0015f01}
      expect: deny

A case may also have name, customer, session, risk, taint, calls, times (repeat the call;
the last decision counts) and rule (the name of the rule that must decide). The exit code is 1 if
a case fails.`,
		Example: "  mcprun policy test policy-cases.yaml",
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE:    func(_ *cobra.Command, args []string) error { return o.test(args[0]) },
	}
	o.bindFile(cmd.Flags())
	o.bind(cmd.Flags())
	return cmd
}

func (o *command) test(path string) error {
	cases, err := config.ReadPolicyCases(o.app.Path(path))
	if err != nil {
		return err
	}
	tools, p, err := o.open()
	if err != nil {
		return err
	}
	o.warn(p, tools)
	results, failed := p.Test(tools, cases), 0
	for _, r := range results {
		if r.Problem != "" {
			failed++
		}
		if r.Warning != "" {
			fmt.Fprintf(o.app.Stderr, "mcprun: %s:%d: %s: %s\n", path, r.Line, cli.EscapeLine(r.Name), cli.EscapeLine(r.Warning))
		}
	}
	if o.json {
		err = o.app.JSON(map[string]any{"cases": results, "failed": failed})
	} else {
		for _, r := range results {
			if r.Problem == "" {
				continue
			}
			decided := ""
			if r.Got.Effect != "" {
				decided = " (" + verdict(r.Got) + ")"
			}
			fmt.Fprintf(o.app.Stdout, "%s:%d: %s: %s%s\n", path, r.Line, cli.EscapeLine(r.Name), cli.EscapeLine(r.Problem), decided)
		}
		fmt.Fprintf(o.app.Stdout, "%s, %d failed\n", cli.Count(len(results), "case"), failed)
	}
	if failed > 0 {
		return errors.Join(err, cli.Quiet(1))
	}
	return err
}

// diff compares two policies.
type diff struct {
	command
	check bool
}

func newDiff(app *cli.App, at resources.Provider) *cobra.Command {
	o := &diff{command: command{app: app, host: at}}
	cmd := &cobra.Command{
		Use: "diff OLD NEW", Short: "List the calls and limits on which two policies differ",
		Long: `Compares the decisions of two policies on all tools in the tree. Each file is a mcpgen.yaml, whose
settings of servers then count too, or holds only the value of its key policy. Example calls are made
from the tools' schemas and the constants in the rules. Levels, defaults and ceilings are compared too, and
what can let a script do more below run:, such as sandbox, trust and approve, and what is done with personal data. With --check, the exit code is 1 if NEW is less strict.`,
		Example: `  git show main:mcpgen.yaml > old.yaml && mcprun policy diff --check old.yaml mcpgen.yaml`,
		Args:    cli.Args(cobra.ExactArgs(2)),
		RunE:    func(_ *cobra.Command, args []string) error { return o.run(args[0], args[1]) },
	}
	cmd.Flags().BoolVar(&o.check, "check", false, "fail if the new policy is less strict")
	o.bind(cmd.Flags())
	return cmd
}

func (o *diff) run(oldFile, newFile string) error {
	before, was, err := o.read(oldFile)
	if err != nil {
		return err
	}
	after, is, err := o.read(newFile)
	if err != nil {
		return err
	}
	p, tree, err := o.load()
	if err != nil {
		return err
	}
	tools := toolsWith(p, tree, is)
	o.warn(after, tools)
	changes, wider := policy.Diff(before, after, toolsWith(p, tree, was), tools), 0
	settings := slices.Concat(policy.DiffLimits(before, after), policy.DiffRun(was, is), policy.DiffPII(was, is), policy.DiffPlugins(was, is), policy.DiffNetwork(was, is))
	for i := range settings {
		if settings[i].Wider {
			wider++
		}
	}
	for i := range changes {
		if changes[i].Widens() {
			wider++
		}
	}
	if o.json {
		err = o.app.JSON(map[string]any{"changes": changes, "settings": settings, "wider": wider, "tools": len(tools)})
	} else {
		o.print(changes, settings, wider, len(tools))
	}
	if o.check && wider > 0 {
		return errors.Join(err, cli.Quiet(1))
	}
	return err
}

// toolsWith returns the tools with the hints that they have under the server settings in a file.
func toolsWith(p *project.Project, tree *gen.Tree, settings *config.Settings) []policy.Tool {
	servers := p.Servers
	if settings.Servers != nil {
		cfg := cmp.Or(p.Cfg, &config.Config{})
		servers = chain.ServersOf(&config.Config{Servers: cfg.ServersWith(settings)})
	}
	return chain.New(chain.Options{Catalog: tree.Catalog, Servers: servers}).Tools()
}

func (o *diff) print(changes []policy.Change, settings []policy.SettingChange, wider, tools int) {
	for _, c := range settings {
		word := "stricter"
		if c.Wider {
			word = "wider"
		}
		fmt.Fprintln(o.app.Stdout, cli.EscapeLine(fmt.Sprintf("%s: %s: %s, was %s, %s", word, c.Setting, c.To, c.From, c.At)))
	}
	same := map[string][]*policy.Change{} // the changes that one line describes
	var lines []string
	for i := range changes {
		c := &changes[i]
		word := "stricter"
		if c.Widens() {
			word = "wider"
		}
		line := fmt.Sprintf("%s, was %s", verdict(c.New), verdict(c.Old))
		key := word + "\x00" + line
		if same[key] == nil {
			lines = append(lines, key)
		}
		same[key] = append(same[key], c)
	}
	for _, key := range lines {
		word, line, _ := strings.Cut(key, "\x00")
		list := same[key]
		more := ""
		if n := len(list) - 1; n > 0 {
			more = fmt.Sprintf(" and %s", cli.Count(n, "other tool"))
		}
		fmt.Fprintf(o.app.Stdout, "%s: %s%s: %s\n  %s\n", word, list[0].Tool, more, line, cli.EscapeLine(example(&list[0].Example)))
		if more != "" {
			var names []string
			for _, c := range list[1:] {
				names = append(names, c.Tool)
			}
			fmt.Fprintf(o.app.Stdout, "  others: %s\n", strings.Join(names, ", "))
		}
	}
	fmt.Fprintf(o.app.Stdout, "%s: %d wider, %d stricter\n", cli.Count(tools, "tool"), wider, len(changes)+len(settings)-wider)
}

// example describes a call and the relevant part of its run.
func example(e *policy.Example) string {
	text := "for example " + string(e.Args)
	for _, part := range []struct{ word, value string }{
		{"for customer", e.Customer}, {"in session", e.Session}, {"in a script of risk", e.Risk.String()}, {"after data of", strings.Join(e.Taint, ", ")},
	} {
		if part.value != "" {
			text += " " + part.word + " " + part.value
		}
	}
	if e.Calls > 0 {
		text += fmt.Sprintf(" after %s", cli.Count(e.Calls, "call"))
	}
	if e.Made > 0 {
		text += fmt.Sprintf(" after %s that a rule counts", cli.Count(e.Made, "call"))
		if e.Of != "" {
			text += " of the same " + e.Of
		}
	}
	return text
}
