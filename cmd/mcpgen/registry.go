package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config/edit"
	"github.com/mcpgen/mcpgen/gen/registry"
)

type registryOptions struct {
	app   *cli.App
	url   string
	limit int
	json  bool
	as    string
	yes   bool
}

func newRegistryCmd(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "registry",
		Short: "Find servers in a registry, and add one to the configuration",
		Args:  cli.Args(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRegistrySearchCmd(app), newRegistryAddCmd(app))
	return cmd
}

func newRegistrySearchCmd(app *cli.App) *cobra.Command {
	o := &registryOptions{app: app}
	cmd := &cobra.Command{
		Use:   "search WORDS...",
		Short: "Find servers in a registry",
		Long: `search lists the servers of a registry with all of the words in their name, title or description, at least one of them in the
name, and how each would be started. Only the words are sent.

Anyone can publish to a public registry. Its texts say what their authors want you to read.`,
		Example: `  mcpgen registry search github
  mcpgen registry search weather forecast --json`,
		Args: cli.Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.limit < 1 || o.limit > registry.MaxFound {
				return cli.Usage(cmd, "--limit is 1 to %d, not %d", registry.MaxFound, o.limit)
			}
			return o.search(cmd.Context(), args)
		},
	}
	o.bind(cmd)
	cmd.Flags().IntVar(&o.limit, "limit", 10, "list at most this many servers")
	cmd.Flags().BoolVar(&o.json, "json", false, "print the result as JSON")
	return cmd
}

func newRegistryAddCmd(app *cli.App) *cobra.Command {
	o := &registryOptions{app: app}
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a server of a registry to the configuration",
		Long: `add shows the entry of a server, names the file that gets it, and asks. Comments in the file stay. What the server requires of the
environment becomes ${NAME}, and add says which variables to set. It starts nothing: the next "mcpgen sync" does.

NAME is the whole name that search prints. The entry has the version that the registry has now.`,
		Example: `  mcpgen registry add io.github.owner/weather
  mcpgen registry add io.github.owner/weather --as forecast --yes`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return o.add(cmd.Context(), args[0]) },
	}
	o.bind(cmd)
	f := cmd.Flags()
	f.StringVar(&o.as, "as", "", "the `name` in the configuration (default: the last part of NAME)")
	f.BoolVar(&o.yes, "yes", false, "do not ask")
	return cmd
}

func (o *registryOptions) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.url, "url", registry.Official, "the `address` of the registry")
}

// foundServer is a server in the result of search.
type foundServer struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description"`
	Version     string `json:"version"`
	Status      string `json:"status,omitempty"`
	Starts      string `json:"starts,omitempty"` // the command line or address of its entry
	Problem     string `json:"problem,omitempty"`
}

func (o *registryOptions) search(ctx context.Context, words []string) error {
	r, err := registry.New(o.url)
	if err != nil {
		return err
	}
	servers, err := r.Search(ctx, words, o.limit)
	if err != nil {
		return err
	}
	found := []foundServer{}
	for _, s := range servers {
		f := foundServer{Name: s.Name, Title: s.Title, Description: s.Description, Version: s.Version, Status: s.Status}
		if entry, _, err := s.Entry(s.Key()); err != nil {
			f.Problem = err.Error()
		} else {
			f.Starts = entry.String()
		}
		found = append(found, f)
	}
	if o.json {
		return o.app.JSON(map[string]any{"servers": found})
	}
	if len(found) == 0 {
		_, err := fmt.Fprintln(o.app.Stderr, "no server fits; try one word of its name")
		return err
	}
	style := o.app.OutStyle()
	for i, f := range found {
		if i > 0 {
			_, _ = fmt.Fprintln(o.app.Stdout)
		}
		head := style.Bold(cli.EscapeLine(f.Name)) + " " + cli.EscapeLine(f.Version)
		if f.Status != "" {
			head += " (" + cli.EscapeLine(f.Status) + ")"
		}
		_, _ = fmt.Fprintln(o.app.Stdout, head)
		for _, text := range []string{f.Description, f.Starts, f.Problem} {
			if text != "" {
				_, _ = fmt.Fprintln(o.app.Stdout, "  "+cli.EscapeLine(text))
			}
		}
	}
	return nil
}

func (o *registryOptions) add(ctx context.Context, name string) error {
	r, err := registry.New(o.url)
	if err != nil {
		return err
	}
	s, err := r.Get(ctx, name)
	if err != nil {
		return err
	}
	key := o.as
	if key == "" {
		key = s.Key()
	}
	entry, notes, err := s.Entry(key)
	if err != nil {
		return err
	}
	files := &initOptions{app: o.app}
	p, err := files.project()
	if err != nil {
		return err
	}
	before, err := readIfThere(p.config)
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	text := before
	if text == nil {
		text = []byte(edit.EmptyServers)
	}
	present, err := edit.ServerNames(p.config, text)
	if err != nil {
		return err
	}
	if slices.Contains(present, key) {
		return cli.WithHint(fmt.Errorf("%s has a server %q already", files.name(p.config), key), "give it another name with --as, or remove that one")
	}
	if text, err = edit.SetServers(p.config, text, []edit.Entry{{Key: key, Value: entry}}); err != nil {
		return err
	}
	if err := o.show(s, key, entry, notes, files.name(p.config)); err != nil {
		return err
	}
	if ok, err := o.agree(ctx); err != nil || !ok {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p.config), 0o755); err != nil {
		return err
	}
	if err := files.put(p.config, text, before != nil); err != nil {
		return err
	}
	files.say("Next: \"mcpgen sync\". It starts the server, or connects to it.")
	return nil
}

// show prints the entry and what is to be done for it.
func (o *registryOptions) show(s *registry.Server, key string, entry *registry.Entry, notes []registry.Note, file string) error {
	shown, err := json.MarshalIndent(map[string]any{key: entry}, "", "  ")
	if err != nil {
		return err
	}
	out := &strings.Builder{}
	fmt.Fprintf(out, "%s %s: %s\n\n%s gets:\n%s\n", cli.EscapeLine(s.Name), cli.EscapeLine(s.Version), cli.EscapeLine(s.Description), file, cli.Escape(string(shown)))
	if s.Status != "" {
		fmt.Fprintf(out, "\nThe registry says that it is %s.\n", cli.EscapeLine(s.Status))
	}
	for _, n := range notes {
		if n.Variable == "" {
			fmt.Fprintf(out, "\n%s", cli.EscapeLine(n.Text))
			continue
		}
		fmt.Fprintf(out, "\n%s: the server gets it from the environment, or from a .env that git ignores", n.Variable)
		if n.Text != "" {
			fmt.Fprintf(out, " (%s)", cli.EscapeLine(n.Text))
		}
	}
	if len(notes) > 0 {
		out.WriteByte('\n')
	}
	_, err = fmt.Fprint(o.app.Stdout, out)
	return err
}

// agree asks whether to write the entry.
func (o *registryOptions) agree(ctx context.Context) (bool, error) {
	switch {
	case o.yes:
		return true, nil
	case !o.app.Interactive():
		return false, cli.WithHint(errors.New("nothing was written, because there is no terminal to ask at"), "read the entry, and run the command again with --yes")
	}
	ok, err := o.app.Confirm(ctx, "\nAdd it?")
	if err == nil && !ok {
		_, err = fmt.Fprintln(o.app.Stdout, "nothing was written")
	}
	return ok, err
}
