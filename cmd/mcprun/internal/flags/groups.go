package flags

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Groups are the flags of one command as its help lists them: under headings, in the order in which they were added.
type Groups struct {
	cmd    *cobra.Command
	groups []flagGroup
	usual  *pflag.FlagSet // what the help shows without --all; nil: everything
	all    bool
}

type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// NewGroups makes the command's help show its flags in groups. Commands below it keep the usual help.
func NewGroups(cmd *cobra.Command) *Groups {
	g := &Groups{cmd: cmd}
	usual := (&cobra.Command{}).UsageFunc()
	cmd.SetUsageFunc(func(c *cobra.Command) error {
		if c != cmd {
			return usual(c)
		}
		g.print(c.OutOrStderr())
		return nil
	})
	return g
}

// Set returns the flags that bind registers, in that order, for several commands or groups.
func Set(bind func(f *pflag.FlagSet)) *pflag.FlagSet {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.SortFlags = false
	bind(f)
	return f
}

// Add makes a group of the flags that bind registers.
func (g *Groups) Add(title string, bind func(f *pflag.FlagSet)) {
	flags := Set(bind)
	g.cmd.Flags().AddFlagSet(flags)
	g.groups = append(g.groups, flagGroup{title, flags})
}

// Usual limits the help to the flags of these names, and adds a flag --all with which it shows the groups.
func (g *Groups) Usual(names ...string) {
	g.cmd.Flags().BoolVar(&g.all, "all", false, "with --help: show all flags")
	g.usual = Set(func(f *pflag.FlagSet) {
		for _, name := range append(names, "help", "all") {
			f.AddFlag(g.cmd.Flags().Lookup(name))
		}
	})
}

func (g *Groups) print(w io.Writer) {
	c := g.cmd
	fmt.Fprintf(w, "Usage:\n  %s\n", c.UseLine())
	if c.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", c.Example)
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nCommands:\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(w, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	groups := g.groups
	if g.usual != nil && !g.all {
		groups = []flagGroup{{"Usual flags", g.usual}}
	}
	for _, group := range groups {
		fmt.Fprintf(w, "\n%s:\n%s\n", group.title, strings.TrimRight(group.flags.FlagUsages(), "\n"))
	}
	if g.usual != nil && !g.all {
		fmt.Fprintf(w, "\n%q shows the other flags.\n", c.CommandPath()+" --help --all")
	}
}
