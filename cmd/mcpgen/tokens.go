package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen"
)

type tokensOptions struct {
	app      *cli.App
	place    placeFlags
	language string
	tools    bool
	json     bool
}

func newTokensCmd(app *cli.App) *cobra.Command {
	o := &tokensOptions{app: app}
	cmd := &cobra.Command{
		Use:   "tokens [SERVER...]",
		Short: "Count what the tree costs a model, beside the definitions of its tools",
		Long: `tokens counts, in tokens of o200k_base:

  definitions  what a host sends of all tools: name, description and input schema, as compact JSON
  ls           a listing of the server's folder
  index        its index file: one line of description per tool
  wrapper      one wrapper file, the median of the server's
  read         ls + index + one wrapper: what is read to use one tool of that server
  saved        how much less that is than all definitions of the server

The last line stands for a model that looks into every server and uses one tool. With --tools, each tool's wrapper is
listed beside its whole definition as indented JSON, the form in which hosts and inspectors show it.

It reads files only; no server is asked.`,
		Example: `  mcpgen tokens
  mcpgen tokens drive --tools
  mcpgen tokens --language python --json`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	o.place.bind(cmd)
	cmd.Flags().StringVar(&o.language, "language", "", "count the wrappers in this `language`: typescript or python (default: typescript, if the tree has it)")
	cmd.Flags().BoolVar(&o.tools, "tools", false, "list each tool")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

// tokensJSON is the output of tokens --json. All numbers are tokens.
type tokensJSON struct {
	Language string             `json:"language"`
	Encoding string             `json:"encoding"`
	Servers  []serverTokensJSON `json:"servers"`
	All      *allTokensJSON     `json:"all,omitempty"` // absent when servers were named
}

type serverTokensJSON struct {
	Name        string           `json:"name"`
	Dir         string           `json:"dir"`
	Definitions int              `json:"definitions"`
	List        int              `json:"ls"`
	Index       int              `json:"index"`
	Wrapper     int              `json:"wrapper"`
	Read        int              `json:"read"`
	Tools       []toolTokensJSON `json:"tools"`
}

type toolTokensJSON struct {
	ID                 string `json:"id"`
	Definition         int    `json:"definition"`
	DefinitionCompact  int    `json:"definitionCompact"`
	DefinitionIndented int    `json:"definitionIndented"`
	Wrapper            int    `json:"wrapper"`
}

type allTokensJSON struct {
	Definitions int `json:"definitions"`
	List        int `json:"ls"`
	Index       int `json:"index"`
	Wrapper     int `json:"wrapper"`
	Read        int `json:"read"`
}

func (o *tokensOptions) run(cmd *cobra.Command, only []string) error {
	language, ok := languageOf(o.language)
	if !ok && o.language != "" {
		return cli.Usage(cmd, "unknown language %q: it is typescript or python", o.language)
	}
	tree, err := gen.Open(o.place.options(o.app))
	if err != nil {
		return err
	}
	if err := tree.Only(only); err != nil {
		return err
	}
	cost, err := tree.Cost(language)
	if err != nil {
		return err
	}
	out := tokensJSON{Language: cost.Language, Encoding: "o200k_base", Servers: []serverTokensJSON{}}
	for _, s := range cost.Servers {
		js := serverTokensJSON{
			Name: s.Key, Dir: s.Dir, Definitions: s.Definitions, List: s.List, Index: s.Index, Wrapper: s.Wrapper, Read: s.Read(),
			Tools: []toolTokensJSON{},
		}
		for _, t := range s.Tools {
			js.Tools = append(js.Tools, toolTokensJSON{
				ID: t.ID, Definition: t.Definition, DefinitionCompact: t.Raw, DefinitionIndented: t.Indented, Wrapper: t.Wrapper,
			})
		}
		out.Servers = append(out.Servers, js)
	}
	if len(only) == 0 {
		out.All = &allTokensJSON{Definitions: cost.Definitions(), List: cost.List, Wrapper: cost.Wrapper, Read: cost.Read()}
		for _, s := range cost.Servers {
			out.All.List += s.List
			out.All.Index += s.Index
		}
	}
	if o.json {
		return o.app.JSON(out)
	}
	return o.print(out)
}

func (o *tokensOptions) print(out tokensJSON) error {
	style := o.app.OutStyle()
	if o.tools {
		rows := [][]string{}
		for _, s := range out.Servers {
			for _, t := range s.Tools {
				rows = append(rows, []string{t.ID, number(t.DefinitionIndented), number(t.DefinitionCompact), number(t.Wrapper), percent(t.Wrapper, t.DefinitionIndented)})
			}
		}
		return cli.Table(o.app.Stdout, style, []string{"tool", "definition", "compact", "wrapper", "of definition"}, alignRight(rows))
	}
	rows := [][]string{}
	for _, s := range out.Servers {
		rows = append(rows, []string{
			s.Name, number(len(s.Tools)), number(s.Definitions), number(s.List), number(s.Index), number(s.Wrapper), number(s.Read), saved(s.Read, s.Definitions),
		})
	}
	if a := out.All; a != nil {
		tools := 0
		for _, s := range out.Servers {
			tools += len(s.Tools)
		}
		rows = append(rows, []string{"all", number(tools), number(a.Definitions), number(a.List), number(a.Index), number(a.Wrapper), number(a.Read), saved(a.Read, a.Definitions)})
	}
	header := []string{"server", "tools", "definitions", "ls", "index", "wrapper", "read", "saved"}
	return cli.Table(o.app.Stdout, style, header, alignRight(append([][]string{header}, rows...))[1:])
}

// alignRight pads every cell but each row's first to the width of its column.
func alignRight(rows [][]string) [][]string {
	width := map[int]int{}
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len(cell))
		}
	}
	for _, row := range rows {
		for i := 1; i < len(row); i++ {
			row[i] = strings.Repeat(" ", width[i]-len(row[i])) + row[i]
		}
	}
	return rows
}

// number groups digits by three.
func number(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func percent(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(whole))
}

// saved says how much less is than whole; nothing where it is not less.
func saved(is, whole int) string {
	if is >= whole {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(whole-is)/float64(whole))
}
