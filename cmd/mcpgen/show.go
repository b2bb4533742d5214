package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen"
)

type showOptions struct {
	app      *cli.App
	place    placeFlags
	language string
	json     bool
}

func newShowCmd(app *cli.App) *cobra.Command {
	o := &showOptions{app: app}
	cmd := &cobra.Command{
		Use:   "show TOOL",
		Short: "Show one tool: what it says of itself, its signatures and its wrappers",
		Long: `show prints one tool of the tree: what its server says of it, and for each language the wrapper's signature, file and
source. TOOL is an id (server__tool), server/tool, a wrapper's file, or the bare name where only one server has it.
SERVER/prompts and SERVER/resources show what a server offers beside tools.
With --json the definition that the server sent is there too. It reads files only; no server is asked.`,
		Example: `  mcpgen show drive__get_document
  mcpgen show drive/get_document --language python
  mcpgen show getDocument --json`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.place.bind(cmd)
	cmd.Flags().StringVar(&o.language, "language", "", "show this `language` only: typescript or python")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

// showJSON is the output of show --json.
type showJSON struct {
	ID          string                 `json:"id"`
	Server      string                 `json:"server"`
	Name        string                 `json:"name"`
	Title       string                 `json:"title,omitempty"`
	Description string                 `json:"description,omitempty"`
	Hints       map[string]bool        `json:"hints,omitempty"`
	Digest      string                 `json:"digest"`
	Wrappers    map[string]wrapperJSON `json:"wrappers"`
	// Definition is the tool as its server listed it.
	Definition json.RawMessage `json:"definition"`
}

type wrapperJSON struct {
	File      string `json:"file"`
	Function  string `json:"function"`
	Signature string `json:"signature"`
	Source    string `json:"source"`
}

func (o *showOptions) run(cmd *cobra.Command, name string) error {
	if o.language != "" {
		full, ok := languageOf(o.language)
		if !ok {
			return cli.Usage(cmd, "unknown language %q: it is typescript or python", o.language)
		}
		o.language = full
	}
	tree, err := gen.Open(o.place.options(o.app))
	if err != nil {
		return err
	}
	d, err := tree.Find(name)
	if err != nil {
		if f := findOffer(tree, name); f != nil {
			return o.showOffer(tree, f)
		}
		return err
	}
	if o.json {
		return o.app.JSON(o.toJSON(d))
	}
	return o.print(tree, d)
}

func (o *showOptions) shown(language string) bool { return o.language == "" || o.language == language }

func (o *showOptions) toJSON(d *gen.Definition) showJSON {
	out := showJSON{
		ID: d.Tool.ID, Server: d.Server.Key, Name: d.Tool.Name, Title: d.Tool.Title, Description: d.Tool.Description,
		Hints: hintsOf(d.Tool), Digest: d.Tool.Digest, Definition: d.Tool.Raw, Wrappers: map[string]wrapperJSON{},
	}
	for _, w := range d.Wrappers {
		if o.shown(w.Language) {
			out.Wrappers[w.Language] = wrapperJSON{File: w.File, Function: w.Function, Signature: w.Signature, Source: w.Source}
		}
	}
	return out
}

func (o *showOptions) print(tree *gen.Tree, d *gen.Definition) error {
	style := o.app.OutStyle()
	var out strings.Builder
	fmt.Fprintf(&out, "%s  %s of server %s\n", style.Bold(cli.CleanLine(d.Tool.ID)),
		cli.CleanLine(fmt.Sprintf("%q", d.Tool.Name)), cli.CleanLine(fmt.Sprintf("%q", d.Server.Key)))
	if d.Tool.Title != "" {
		fmt.Fprintf(&out, "%s\n", cli.CleanLine(d.Tool.Title))
	}
	if hints := hintsText(d.Tool); hints != "" {
		fmt.Fprintf(&out, "the server says: %s\n", hints)
	}
	if d.Tool.Description != "" {
		fmt.Fprintf(&out, "\n%s\n", indent(cli.Clean(strings.TrimSpace(d.Tool.Description))))
	}
	for _, w := range d.Wrappers {
		if !o.shown(w.Language) {
			continue
		}
		file := w.File
		if rel, err := filepath.Rel(o.app.Dir, tree.Dir); err == nil && !strings.HasPrefix(rel, "..") {
			file = filepath.ToSlash(filepath.Join(rel, w.File))
		}
		fmt.Fprintf(&out, "\n%s  %s\n", style.Bold(w.Language), style.Cyan(cli.CleanLine(file)))
		if w.Signature != "" {
			fmt.Fprintf(&out, "\n%s\n", indent(cli.Clean(w.Signature)))
		}
		fmt.Fprintf(&out, "\n%s\n", indent(cli.Clean(strings.TrimSpace(w.Source))))
	}
	_, err := io.WriteString(o.app.Stdout, out.String())
	return err
}

func indent(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}
