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
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/runner/skill"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// skillOptions are the flags that the commands about skills share.
type skillOptions struct {
	app *cli.App
	at  resources.Provider
	project.LocationFlags
	CheckFlags
	customers.FolderFlags
	state    state.PlaceFlag
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
	o.state.Bind(f)
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
	if o.customer != "" && p.Cfg != nil && flags.NamesState(o.app, o.cmd.Flags(), &p.Settings) {
		if err := o.Consent(o.cmd.Context(), o.app, o.at, p.Cfg); err != nil {
			return nil, err
		}
	}
	if err := flags.ApplyDefaults(o.app, o.cmd.Flags(), &p.Settings); err != nil {
		return nil, err
	}
	var own *customer.Customer
	if o.customer != "" {
		o.state.Attach(o.app, p) // the logs of sessions count towards the quota
		root, err := o.FolderFlags.Open(o.app, p.Base, p.State, p.Upstreams, nil, nil)
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
