package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen"
)

// maxSchemaFile bounds what types reads. It is above the limit for schemas.
const maxSchemaFile = 16 << 20

type typesOptions struct {
	app      *cli.App
	language string
	name     string
}

func newTypesCmd(app *cli.App) *cobra.Command {
	o := &typesOptions{app: app}
	cmd := &cobra.Command{
		Use:   "types SCHEMA.json",
		Short: "Print the types of one JSON Schema file",
		Long: `types prints the declarations for a JSON Schema, as wrappers have them. Every value that the schema accepts fits the type.
All dialects from draft 4 to 2020-12 are read. What a language cannot express becomes a wider type. What is not understood
accepts any value, with a warning. Files and addresses in the schema are not read. SCHEMA.json may be - for standard input.`,
		Example: `  mcpgen types user.schema.json                   # TypeScript; the type is called User
  mcpgen types user.schema.json --language python --name Person > person.py
  curl -s https://example.com/schema.json | mcpgen types - --name Config`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	bindLanguage(cmd, &o.language, "the `language`: "+gen.LanguageNames()+" (default: "+gen.Languages()[0].Name+")")
	cmd.Flags().StringVar(&o.language, "lang", "", "")
	_ = cmd.Flags().MarkHidden("lang") // the former name of --language
	cmd.Flags().StringVar(&o.name, "name", "", "the `name` of the type (default: from the file's name)")
	return cmd
}

func (o *typesOptions) run(cmd *cobra.Command, file string) error {
	if err := checkLanguage(cmd, &o.language); err != nil {
		return err
	}
	language := cmp.Or(o.language, gen.Languages()[0].Name)
	raw, err := o.read(file)
	if err != nil {
		return err
	}
	name := o.name
	switch {
	case cmd.Flags().Changed("name") && name == "":
		return cli.Usage(cmd, "the name of the type is empty")
	case name == "" && file != "-":
		name = gen.TypeNameFor(language, file)
	}
	result, err := gen.Types(raw, gen.TypesOptions{Language: language, Name: name})
	if err != nil {
		if _, named := errors.AsType[*gen.TypeNameError](err); named {
			return err
		}
		return fmt.Errorf("%s: %w", o.title(file), err)
	}
	style := o.app.ErrStyle()
	for _, w := range result.Warnings {
		_, _ = fmt.Fprintf(o.app.Stderr, "%s %s: %s\n", style.Yellow("warning:"), cli.EscapeLine(w.Place), cli.EscapeLine(w.Message))
	}
	_, err = o.app.Stdout.Write(result.Source)
	return err
}

func (o *typesOptions) title(file string) string {
	if file == "-" {
		return "standard input"
	}
	return cli.EscapeLine(file)
}

// read returns the whole file, or standard input.
func (o *typesOptions) read(file string) ([]byte, error) {
	from := o.app.Stdin
	if file != "-" {
		f, err := os.Open(o.app.Path(file))
		if err != nil {
			return nil, cli.WithHint(fmt.Errorf("read the schema: %w", err), "the argument is the path of a JSON Schema file, or - for standard input")
		}
		defer f.Close()
		from = f
	}
	raw, err := io.ReadAll(io.LimitReader(from, maxSchemaFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	if len(raw) > maxSchemaFile {
		return nil, fmt.Errorf("read the schema: %s is larger than %d MiB", o.title(file), maxSchemaFile>>20)
	}
	return raw, nil
}
