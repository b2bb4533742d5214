package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/config"
)

type listOptions struct {
	app     *cli.App
	place   placeFlags
	json    bool
	verbose bool
}

func newListCmd(app *cli.App) *cobra.Command {
	o := &listOptions{app: app}
	cmd := &cobra.Command{
		Use:   "list [SERVER...]",
		Short: "List the servers and tools of the tree",
		Long: `list prints the servers of the tree with their tools, prompts and resources, and the first line of each description. It
reads files only; no server is asked.

With -v it also prints which file each server comes from, which servers are disabled, and which settings were ignored.`,
		Example: `  mcpgen list
  mcpgen list drive crm
  mcpgen list --json`,
		RunE: func(_ *cobra.Command, args []string) error { return o.run(args) },
	}
	o.place.bind(cmd)
	cmd.ValidArgsFunction = cli.CompleteArgs(0, generatedServers(app, &o.place))
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "also print where servers come from, and what was ignored")
	return cmd
}

// listJSON is the output of list --json.
type listJSON struct {
	Out     string           `json:"out"`
	Servers []listServerJSON `json:"servers"`
}

type listServerJSON struct {
	Name         string         `json:"name"`
	Dir          string         `json:"dir"`
	Source       string         `json:"source,omitempty"`
	Title        string         `json:"title,omitempty"`
	Instructions string         `json:"instructions,omitempty"`
	Tools        []listToolJSON `json:"tools"`
	// Resources reports whether the server offers resources. Prompts are the prompts that it listed.
	Resources bool         `json:"resources,omitempty"`
	Prompts   []promptJSON `json:"prompts,omitempty"`
}

type listToolJSON struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Title       string            `json:"title,omitempty"`
	Description string            `json:"description,omitempty"`
	Hints       map[string]bool   `json:"hints,omitempty"`
	Files       map[string]string `json:"files"`
}

func (o *listOptions) run(only []string) error {
	tree, err := gen.Open(o.place.options(o.app))
	if err != nil {
		return err
	}
	var cfg *config.Config
	if o.verbose {
		if cfg, err = gen.LoadConfig(o.place.options(o.app)); err != nil {
			return err
		}
	}
	out := listJSON{Out: tree.Dir, Servers: []listServerJSON{}}
	var known []string
	for _, s := range tree.Catalog.Servers {
		known = append(known, s.Key)
		if len(only) > 0 && !slices.Contains(only, s.Key) && !slices.Contains(only, s.Dir) {
			continue
		}
		js := listServerJSON{Name: s.Key, Dir: s.Dir, Title: s.Title, Instructions: s.Instructions, Tools: []listToolJSON{}, Resources: s.Resources, Prompts: promptsOf(&s)}
		if cfg != nil {
			configured, _ := cfg.Server(s.Key)
			js.Source = configured.Source
		}
		for _, t := range s.Tools {
			files := map[string]string{}
			for language, names := range tree.Lock.Servers[s.Key].Tools[t.Name].Names {
				files[language] = names.File
			}
			js.Tools = append(js.Tools, listToolJSON{
				ID: t.ID, Name: t.Name, Title: t.Title, Description: t.Description, Hints: hintsOf(&t), Files: files,
			})
		}
		out.Servers = append(out.Servers, js)
	}
	for _, name := range only {
		if !slices.ContainsFunc(out.Servers, func(s listServerJSON) bool { return s.Name == name || s.Dir == name }) {
			return &gen.UnknownServerError{Key: name, Known: known}
		}
	}
	if cfg != nil {
		for _, n := range cfg.Notes {
			_, _ = fmt.Fprintf(o.app.Stderr, "note: %s\n", cli.EscapeLine(n.String()))
		}
	}
	if o.json {
		return o.app.JSON(out)
	}
	return o.print(out)
}

func (o *listOptions) print(list listJSON) error {
	style := o.app.OutStyle()
	var rows [][]string
	for i, s := range list.Servers {
		heading := fmt.Sprintf("%s  %s", style.Bold(cli.EscapeLine(s.Name)), cli.Count(len(s.Tools), "tool"))
		if s.Title != "" && s.Title != s.Name {
			heading += "  " + style.Dim(cli.Shorten(cli.EscapeLine(s.Title), 60))
		}
		if s.Source != "" {
			heading += "\n  " + style.Dim("from "+cli.EscapeLine(s.Source))
		}
		if i > 0 {
			heading = "\n" + heading
		}
		if _, err := fmt.Fprintln(o.app.Stdout, heading); err != nil {
			return err
		}
		rows = rows[:0]
		for _, t := range s.Tools {
			rows = append(rows, []string{"  " + t.ID, firstLine(t.Title, t.Description)})
		}
		if s.Resources {
			rows = append(rows, []string{"  " + style.Dim("resources"), "listed by the server at run time: resources.list()"})
		}
		for _, p := range s.Prompts {
			rows = append(rows, promptRow("  "+style.Dim("prompt")+" ", p))
		}
		if err := cli.Table(o.app.Stdout, style, nil, rows); err != nil {
			return err
		}
	}
	if len(list.Servers) == 0 {
		_, err := fmt.Fprintln(o.app.Stdout, "the tree has no servers")
		return err
	}
	return nil
}
