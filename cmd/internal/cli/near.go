package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// maxNear bounds how many names are suggested in place of a misspelt one.
const maxNear = 3

// DidYouMean returns a question that asks whether one of near was meant, or "" if near is empty.
func DidYouMean(near []string) string {
	if len(near) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(near, " or ") + "?"
}

// Near returns the known names that name may be a misspelling of, the likeliest first.
func Near(name string, known []string) []string { return ident.Nearest(name, known, maxNear) }

// NearCommands returns the commands below cmd that name may be a misspelling of, each as the user would type it.
func NearCommands(cmd *cobra.Command, name string) []string {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return withPrefix(cmd.CommandPath()+" ", Near(name, names))
}

// nearFlags returns the flags of cmd that the unknown flag in err may be a misspelling of.
func nearFlags(cmd *cobra.Command, err error) []string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || unknown.GetSpecifiedShortnames() != "" {
		return nil
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return withPrefix("--", Near(unknown.GetSpecifiedName(), names))
}

func withPrefix(prefix string, names []string) []string {
	for i := range names {
		names[i] = prefix + names[i]
	}
	return names
}
