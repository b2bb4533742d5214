package run

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/source"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/term"
)

// varFlags are the flags for the variables of a script.
type varFlags struct {
	single map[string]json.RawMessage
	file   string
}

func (o *varFlags) bind(f *pflag.FlagSet) {
	o.single = map[string]json.RawMessage{}
	set := func(text string) error {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return fmt.Errorf("%q is not a variable: write NAME=VALUE", text)
		}
		o.single[name] = AsJSON(value)
		return nil
	}
	f.Var(flags.New("name=value", func() string { return "" }, set), "var", "a variable of the script: JSON if it is valid JSON, else text; may be repeated")
	f.Var(flags.Text(&o.file, "file"), "vars", "a file with a JSON object of variables, or - for standard input; --var overrides it")
}

// fromStdin reports whether the variables are read from standard input, which is then nothing else.
func (o *varFlags) fromStdin() bool { return o.file == stdin }

// values returns all variables, by name. It reads the file once.
func (o *varFlags) values(ctx context.Context, app *cli.App) (map[string]json.RawMessage, error) {
	if o.file == "" {
		return maps.Clone(o.single), nil
	}
	text, err := o.read(ctx, app)
	if err != nil {
		return nil, flags.Usage("read the variables of --vars: %w", err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil || all == nil {
		return nil, flags.Usage("--vars: %q is not one JSON object of variables", o.file)
	}
	if _, unnamed := all[""]; unnamed {
		return nil, flags.Usage("--vars: %q has a variable without a name", o.file)
	}
	maps.Copy(all, o.single)
	o.single, o.file = all, ""
	return maps.Clone(all), nil
}

func (o *varFlags) read(ctx context.Context, app *cli.App) ([]byte, error) {
	if o.fromStdin() {
		return source.ReadStdin(ctx, app.Stdin)
	}
	return os.ReadFile(app.Path(o.file))
}

// stdin names standard input in place of a file.
const stdin = "-"

// ReadJSON returns the JSON on standard input.
func ReadJSON(ctx context.Context, app *cli.App) (json.RawMessage, error) {
	text, err := source.ReadStdin(ctx, app.Stdin)
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	if text = bytes.TrimSpace(text); !json.Valid(text) {
		return nil, flags.Usage("standard input is not JSON")
	}
	return text, nil
}

// AsJSON returns a value as JSON: as written if it is JSON, else as a text.
func AsJSON(value string) json.RawMessage {
	if json.Valid([]byte(value)) {
		return json.RawMessage(strings.TrimSpace(value))
	}
	return term.AsText(value)
}
