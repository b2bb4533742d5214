// Package trust asks the user before a configuration is used. It shows what the configuration starts, connects to and decides,
// once and again when that changes. Package consent lists these items and stores the answer.
package trust

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/config/consent"
	"github.com/mcpgen/mcpgen/gen/exit"
)

// Variable trusts every configuration when it is "1". It is for CI and containers, where nobody can be asked.
const Variable = "MCPGEN_TRUST"

// Bind adds --trust-config.
func Bind(f *pflag.FlagSet, trusted *bool) {
	f.BoolVar(trusted, "trust-config", false, "use the configuration without asking whether you trust it, as in CI (the same as "+Variable+"=1)")
}

// Gate decides whether a configuration may be used.
type Gate struct {
	App *cli.App
	// Named are the files that --config names.
	Named []string
	// All trusts every configuration.
	All bool
	// Silent means that nobody is asked, because the process is a server or works for another process.
	Silent bool
}

// Error reports a configuration that nobody has agreed to.
type Error struct {
	// Dir is the folder of the project, Named what --config named.
	Dir   string
	Named []string
	// Changed reports that the user agreed to an earlier state.
	Changed bool
	// Asked reports that the user was asked and said no.
	Asked bool
}

func (e *Error) Error() string {
	switch {
	case e.Asked:
		return fmt.Sprintf("the configuration in %q was not trusted; nothing was started", e.Dir)
	case e.Changed:
		return fmt.Sprintf("the configuration in %q has changed since you trusted it, and nobody can be asked here; nothing was started", e.Dir)
	}
	return fmt.Sprintf("nobody has trusted the configuration in %q yet, and nobody can be asked here; nothing was started", e.Dir)
}

// Hint names the command that asks for consent.
func (e *Error) Hint() string {
	return fmt.Sprintf("a person starts %q in a terminal, in %q, and reads what the configuration starts; docs/security.md says how CI and containers do it", command(e.Named), e.Dir)
}

// command returns the command that asks about the named files.
func command(named []string) string {
	text := "mcpgen trust"
	for _, name := range named {
		text += " --config " + cli.EscapeLine(name)
	}
	return text
}

// ExitCode returns the exit code of a refusal.
func (e *Error) ExitCode() int { return exit.Refused }

// ForModel returns the error's text for a model, which cannot give consent.
func (e *Error) ForModel() string {
	return "the project's configuration changed and needs the consent of a person"
}

// opened reports whether every configuration is trusted.
func (g Gate) opened() bool { return g.All || g.App.Env(Variable) == "1" }

// Check returns nil if a person has agreed to the configuration, or does so now at the terminal; else an [*Error].
func (g Gate) Check(ctx context.Context, cfg *config.Config) error {
	if g.opened() {
		return nil
	}
	store, items, change, err := g.compare(cfg)
	if err != nil || change.None() {
		return err
	}
	refused := &Error{Dir: cfg.Dir, Named: g.Named, Changed: !change.First}
	if g.Silent || !g.App.Interactive() {
		return refused
	}
	text, question := list(g.App.ErrStyle(), cfg, change), "Do you trust it?"
	if strings.Count(text, "\n") > screen {
		text += fmt.Sprintf("To read all of it page by page: %s --show | less\n", command(g.Named))
		question = fmt.Sprintf("Do you trust all of it (%s)?", count(change))
	}
	fmt.Fprint(g.App.Stderr, text) // if this fails, so does Confirm
	yes, err := g.App.Confirm(ctx, question)
	if err != nil {
		return err
	}
	if !yes {
		refused.Asked = true
		return refused
	}
	return store.Agree(cfg, items)
}

// Agreed reports whether a configuration may be used without a question.
func (g Gate) Agreed(cfg *config.Config) bool {
	if g.opened() {
		return true
	}
	_, _, change, err := g.compare(cfg)
	return err == nil && change.None()
}

// Agree records that a person has agreed to a configuration.
func (g Gate) Agree(cfg *config.Config) error {
	store, items, change, err := g.compare(cfg)
	if err != nil || change.None() {
		return err
	}
	return store.Agree(cfg, items)
}

// Forget withdraws the consent to a configuration and reports whether there was any.
func (g Gate) Forget(cfg *config.Config) (bool, error) {
	store, err := g.open(cfg)
	if err != nil {
		return false, err
	}
	return store.Forget(cfg)
}

// Show prints to standard output all that a configuration starts, connects to and decides.
func (g Gate) Show(cfg *config.Config) error {
	items, err := consent.List(cfg, g.App.LookupEnv)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(g.App.Stdout, list(g.App.OutStyle(), cfg, &consent.Change{First: true, Added: items}))
	return err
}

// screen is the number of lines that every terminal shows at once.
const screen = 20

// count describes the size of a change.
func count(change *consent.Change) string {
	places := map[string]bool{}
	for _, i := range change.Added {
		places[i.Place] = true
	}
	for _, i := range change.Changed {
		places[i.Place] = true
	}
	for _, gone := range change.Removed {
		place, _, _ := strings.Cut(gone.Name, ": ")
		places[place] = true
	}
	servers := 0
	for place := range places {
		if strings.HasPrefix(place, "server ") {
			servers++
		}
	}
	text := cli.Count(len(change.Added)+len(change.Changed)+len(change.Removed), "item")
	if servers > 0 {
		text = cli.Count(servers, "server") + ", " + text
	}
	return text
}

// compare returns how a configuration differs from what was agreed to.
func (g Gate) compare(cfg *config.Config) (*consent.Store, []consent.Item, *consent.Change, error) {
	items, err := consent.List(cfg, g.App.LookupEnv)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(items) == 0 { // it starts and decides nothing
		return nil, nil, &consent.Change{}, nil
	}
	store, err := g.open(cfg)
	if err != nil {
		return nil, nil, nil, err
	}
	change, err := store.Compare(cfg, items)
	return store, items, change, err
}

// Dir returns the folder that stores what the user has agreed to.
func Dir(app *cli.App) (string, error) {
	state, err := app.StateDir()
	if err != nil {
		return "", cli.WithHint(fmt.Errorf("find out what is trusted: %w", err), "set HOME or XDG_STATE_HOME")
	}
	return filepath.Join(state, "trust"), nil
}

// open opens the store. A project must not bring its own store, so one inside the project is refused, unless the project contains
// the home folder and therefore the store.
func (g Gate) open(cfg *config.Config) (*consent.Store, error) {
	dir, err := Dir(g.App)
	if err != nil {
		return nil, err
	}
	home := g.App.Env("HOME")
	if runtime.GOOS == "windows" {
		home = g.App.Env("USERPROFILE")
	}
	if below(dir, cfg.Dir) && !(filepath.IsAbs(home) && below(home, cfg.Dir)) {
		return nil, cli.WithHint(fmt.Errorf("the folder %q, which stores what you trust, is in the project %q, and a project could bring its own", dir, cfg.Dir),
			"name another folder with XDG_STATE_HOME")
	}
	return consent.Open(dir), nil
}

// below reports whether path is dir or in it. Symbolic links are followed in the part of the path that exists.
func below(path, dir string) bool {
	rel, err := filepath.Rel(realPath(dir), realPath(path))
	return err == nil && filepath.IsLocal(rel)
}

func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(realPath(parent), filepath.Base(path))
	}
	return path
}

// list describes a change, by the places of its items. All of it is foreign text.
func list(style cli.Style, cfg *config.Config, change *consent.Change) string {
	var out strings.Builder
	if change.First {
		fmt.Fprintf(&out, "The configuration in %s starts, connects to and decides:\n", cli.EscapeLine(cfg.Dir))
	} else {
		fmt.Fprintf(&out, "The configuration in %s has changed since you trusted it:\n", cli.EscapeLine(cfg.Dir))
	}
	last := ""
	line := func(mark string, colour func(string) string, place, key, value string) {
		if place != last {
			fmt.Fprintf(&out, "\n  %s\n", style.Bold(cli.EscapeLine(place)))
			last = place
		}
		fmt.Fprintf(&out, "  %s %s  %s\n", colour(mark), cli.EscapeLine(key), cli.EscapeLine(value))
	}
	shown := func(i consent.Item) string {
		if i.Hidden {
			return "(from .env or another file; not shown)"
		}
		if i.Key == "MCPRUN_STATE" || i.Key == "run.state" {
			return cli.ShownPlace(i.Value)
		}
		return i.Value
	}
	plain := func(text string) string { return text }
	for _, i := range change.Changed {
		line("~", style.Yellow, i.Place, i.Key, shown(i.Item))
		if i.Was != "" {
			fmt.Fprintf(&out, "      was %s\n", cli.EscapeLine(i.Was))
		}
	}
	for _, i := range change.Added {
		if change.First {
			line(" ", plain, i.Place, i.Key, shown(i))
		} else {
			line("+", style.Green, i.Place, i.Key, shown(i))
		}
	}
	for _, gone := range change.Removed {
		place, key, _ := strings.Cut(gone.Name, ": ")
		line("-", style.Red, place, key, strings.TrimSpace(gone.Was+" (no longer there)"))
	}
	out.WriteString("\nThe programs and scripts that it names were not looked at.\n")
	return out.String()
}

// IsRefusal reports whether an error says that nobody has agreed to a configuration.
func IsRefusal(err error) bool {
	_, is := errors.AsType[*Error](err)
	return is
}
