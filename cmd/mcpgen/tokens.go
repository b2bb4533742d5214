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
		Short: "Compare the tokens of the tree with those of the tool definitions",
		Long: `tokens counts, in tokens of o200k_base:

  definitions  what a host sends: name, description and input schema of all tools, as compact JSON
  ls           a listing of the server's folder
  index        its index file: one line of description per tool
  wrapper      one wrapper file, the median of the server's
  read         ls + index + one wrapper: what a model reads to use one tool of the server
  saved        how much less that is than the definitions

The last line is for a model that looks at every server and uses one tool. With --tools, each tool's wrapper is
listed beside its whole definition as indented JSON, the form in which hosts and inspectors show it.

It reads files only; no server is asked.`,
		Example: `  mcpgen tokens
  mcpgen tokens drive --tools
  mcpgen tokens --language python --json`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	o.place.bind(cmd)
	cmd.ValidArgsFunction = cli.CompleteArgs(0, generatedServers(app, &o.place))
	bindLanguage(cmd, &o.language, "count the wrappers in this `language`: "+gen.LanguageNames()+" (default: the first that the tree has)")
	cmd.Flags().BoolVar(&o.tools, "tools", false, "list each tool")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func (o *tokensOptions) run(cmd *cobra.Command, only []string) error {
	if err := checkLanguage(cmd, &o.language); err != nil {
		return err
	}
	tree, err := gen.Open(o.place.options(o.app))
	if err != nil {
		return err
	}
	if err := tree.Only(only); err != nil {
		return err
	}
	cost, err := tree.Cost(o.language)
	if err != nil {
		return err
	}
	if o.json {
		return o.app.JSON(cost)
	}
	return o.print(cost)
}

func (o *tokensOptions) print(out *gen.Cost) error {
	style := o.app.OutStyle()
	if o.tools {
		rows := [][]string{}
		for _, s := range out.Servers {
			for _, t := range s.Tools {
				rows = append(rows, []string{t.ID, number(t.Indented), number(t.Raw), number(t.Wrapper), percent(t.Wrapper, t.Indented)})
			}
		}
		return cli.Table(o.app.Stdout, style, []string{"tool", "definition", "compact", "wrapper", "of definition"}, alignRight(rows))
	}
	rows := [][]string{}
	for _, s := range out.Servers {
		rows = append(rows, []string{
			s.Key, number(len(s.Tools)), number(s.Definitions), number(s.List), number(s.Index), number(s.Wrapper), number(s.Read), saved(s.Read, s.Definitions),
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

// saved returns by how many percent the first number is smaller than the second, or "-" if it is not.
func saved(is, whole int) string {
	if is >= whole {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(whole-is)/float64(whole))
}
