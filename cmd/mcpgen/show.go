package main

import (
	"encoding/json"
	"fmt"
	"io"
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
		Short: "Show one tool as code",
		Long: `show prints what a script needs to call a tool: the import, the types of its arguments and result, and its description.
TOOL is an id (server__tool), server/tool, a wrapper's file, or the tool's name if only one server has it. SERVER/prompts
and SERVER/resources show what else a server offers.

If the tree has both languages, show prints TypeScript. --json has both, the files, and the definition that the server
sent. It reads files only; no server is asked.`,
		Example: `  mcpgen show drive__get_document
  mcpgen show drive/get_document --language python
  mcpgen show getDocument --json`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.place.bind(cmd)
	cmd.ValidArgsFunction = cli.CompleteArgs(1, generatedTools(app, &o.place))
	bindLanguage(cmd, &o.language, "show the tool in this `language`: "+gen.LanguageNames(allLanguages), allLanguages)
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
	if err := checkLanguage(cmd, &o.language, allLanguages); err != nil {
		return err
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
	if has := tree.Languages(); o.language == "" && len(has) > 0 {
		o.language = has[0]
	}
	return o.print(d)
}

// allLanguages asks for every language that the tree has.
const allLanguages = "all"

func (o *showOptions) shown(language string) bool {
	return o.language == "" || o.language == allLanguages || o.language == language
}

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

// print writes the tool as code.
func (o *showOptions) print(d *gen.Definition) error {
	var out strings.Builder
	for _, w := range d.Wrappers {
		if !o.shown(w.Language) {
			continue
		}
		if out.Len() > 0 {
			out.WriteByte('\n')
		}
		fmt.Fprintf(&out, "%s\n%s\n", cli.EscapeLine(w.Import), cli.Escape(strings.TrimSpace(w.Lean)))
	}
	_, err := io.WriteString(o.app.Stdout, out.String())
	return err
}

// hintsOf returns the hints that a server gives.
func hintsOf(t *gen.Tool) map[string]bool {
	hints := map[string]bool{}
	for name, value := range map[string]*bool{
		"readOnly": t.Hints.ReadOnly, "destructive": t.Hints.Destructive,
		"idempotent": t.Hints.Idempotent, "openWorld": t.Hints.OpenWorld,
	} {
		if value != nil {
			hints[name] = *value
		}
	}
	return hints
}
