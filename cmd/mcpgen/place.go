package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/internal/trust"
	"github.com/mcpgen/mcpgen/gen"
)

// placeFlags name the configuration and the tree; all commands but init and version have them.
type placeFlags struct {
	configs []string
	out     string
	trusted bool
}

func (f *placeFlags) bind(cmd *cobra.Command) {
	cli.BindConfig(cmd.Flags(), &f.configs)
	cmd.Flags().StringVar(&f.out, "out", "", "the `folder` of the tree (default: out in mcpgen.yaml, or servers)")
	_ = cmd.MarkFlagFilename("config", "json", "jsonc", "toml") // fails only for a flag that does not exist
	_ = cmd.MarkFlagDirname("out")
}

func (f *placeFlags) options(app *cli.App) gen.Options {
	return gen.Options{Configs: app.Configs(f.configs), Out: f.out, Dir: app.Dir, LookupEnv: app.LookupEnv, Consent: f.gate(app).Check}
}

// gate decides whether the configuration may be used.
func (f *placeFlags) gate(app *cli.App) trust.Gate {
	return trust.Gate{App: app, Named: app.Configs(f.configs), All: f.trusted}
}

// bindLanguage adds --language. Its value may also be one of the words in beside.
func bindLanguage(cmd *cobra.Command, name *string, usage string, beside ...string) {
	cmd.Flags().StringVar(name, "language", "", usage)
	words := slices.Clone(beside)
	for _, l := range gen.Languages() {
		words = append(words, l.Name)
	}
	cli.CompleteFlag(cmd, "language", cli.FixedWords(words...))
}

// checkLanguage replaces the name of a language, long or short, by the long one. It also accepts the words in beside.
func checkLanguage(cmd *cobra.Command, name *string, beside ...string) error {
	if *name == "" || slices.Contains(beside, *name) {
		return nil
	}
	l, ok := gen.LanguageOf(*name)
	if !ok {
		return cli.Usage(cmd, "unknown language %q: it is %s", *name, gen.LanguageNames(beside...))
	}
	*name = l.Name
	return nil
}
