// Package plugins has the command plugin.
package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/plugin"
)

// NewCommand returns the command plugin.
func NewCommand(app *cli.App, at resources.Provider) *cobra.Command {
	cmd := &cobra.Command{
		Use: "plugin", Short: "Try the plugins that are asked about runs and calls",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCheck(app, at))
	return cmd
}

// check asks plugins about examples.
type check struct {
	app  *cli.App
	host resources.Provider
	project.LocationFlags
	tool, args string
	json       bool
}

func newCheck(app *cli.App, at resources.Provider) *cobra.Command {
	o := &check{app: app, host: at}
	cmd := &cobra.Command{
		Use: "check [FILE]", Short: "Ask plugins about an example of each event, and show what they answer",
		Long: `Asks a plugin, or all plugins of mcpgen.yaml, about an example of each event: before a run, before a call, after the call and
after the run. No script runs and no tool is called. The exit code is 1 if a plugin gave no valid answer.`,
		Example: `  mcprun plugin check
  mcprun plugin check plugins/limit.py
  mcprun plugin check plugins/limit.py --tool bank__pay --args '{"amount": 12000}'`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.Var(flags.Text(&o.tool, "id"), "tool", "the tool in the examples, as server__tool (default bank__pay)")
	f.Var(flags.Text(&o.args, "json"), "args", "the arguments in the examples, as a JSON object")
	f.BoolVar(&o.json, "json", false, "print one JSON object for each answer")
	o.BindConsent(f)
	return cmd
}

// answer is a line of the output.
type answer struct {
	Plugin string  `json:"plugin"`
	Hook   string  `json:"hook"`
	Answer string  `json:"answer"` // allow, deny, change or failed
	Detail string  `json:"detail,omitempty"`
	MS     float64 `json:"ms"`
}

func (o *check) run(ctx context.Context, args []string) error {
	given := json.RawMessage(o.args)
	if len(given) > 0 && (!json.Valid(given) || given[0] != '{') {
		return flags.Usage("--args: %q is no JSON object", o.args)
	}
	list, opt, err := o.plugins(ctx, args)
	if err != nil {
		return err
	}
	var answers []answer
	for _, c := range list {
		set, err := plugin.Open([]config.Plugin{c}, opt)
		if err != nil {
			return err
		}
		answers = append(answers, ask(ctx, set, c.Name, o.tool, given)...)
		if err := errors.Join(set.Close(), context.Cause(ctx)); err != nil {
			return err
		}
	}
	return o.print(answers)
}

// plugins returns the plugin of the command line, or those of the project.
func (o *check) plugins(ctx context.Context, args []string) ([]config.Plugin, plugin.Options, error) {
	if len(args) == 1 {
		file := o.app.Path(args[0])
		if _, err := os.Stat(file); err != nil {
			return nil, plugin.Options{}, flags.Usage("find the plugin: %w", err)
		}
		return []config.Plugin{config.NewPlugin(file)}, plugin.Options{Dir: o.app.Dir, Lookup: o.app.LookupEnv}, nil
	}
	p, err := o.Open(ctx, o.app, o.host, o.app.Stderr)
	if err != nil {
		return nil, plugin.Options{}, err
	}
	defer p.Close()
	if len(p.Settings.Plugins) == 0 {
		return nil, plugin.Options{}, cli.WithHint(fmt.Errorf("%s has no plugins", filepath.Join(p.Base, config.SettingsName)), "name a file, or write plugins: [plugins/limit.py]")
	}
	return p.Settings.Plugins, plugin.Options{Dir: p.Base, Lookup: p.Lookup, Log: p.Log}, nil
}

// ask asks a set with one plugin about the examples.
func ask(ctx context.Context, set *plugin.Set, name, tool string, args json.RawMessage) (answers []answer) {
	for _, e := range plugin.Examples(tool, args) {
		a := answer{Plugin: name, Hook: string(e.Hook), Answer: "not asked"}
		if set.Fits(e.Hook, e.Tool, e.Name) {
			began := time.Now()
			done, _ := set.Ask(ctx, e, plugin.Place{}) // which is in done, too
			a.Answer, a.MS = string(plugin.Allow), float64(time.Since(began).Microseconds())/1000
			for _, row := range done {
				a.Answer, a.Detail = row.Decision, string(row.Reason)
				if row.Decision == string(plugin.Change) {
					a.Detail = string(e.Value())
				}
			}
		}
		answers = append(answers, a)
	}
	return answers
}

// print prints the answers. It fails if one is not valid.
func (o *check) print(answers []answer) error {
	var rows [][]string
	failed := false
	for _, a := range answers {
		failed = failed || a.Answer == string(plugin.Failed)
		if o.json {
			if err := o.app.JSON(a); err != nil {
				return err
			}
		}
		took := ""
		if a.MS > 0 {
			took = fmt.Sprintf("%.0f ms", a.MS)
		}
		rows = append(rows, []string{a.Plugin, a.Hook, a.Answer, took, a.Detail})
	}
	if !o.json {
		if err := o.app.Table([]string{"PLUGIN", "HOOK", "ANSWER", "TIME", "DETAIL"}, rows); err != nil {
			return err
		}
	}
	if failed {
		return cli.Quiet(1)
	}
	return nil
}
