package run

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
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
	f.Var(flags.Text(&o.file, "file"), "vars", "a file with a JSON object of variables; --var overrides it")
}

// values returns all variables, by name.
func (o *varFlags) values(app *cli.App) (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if o.file != "" {
		text, err := os.ReadFile(app.Path(o.file))
		if err != nil {
			return nil, flags.Usage("read the variables of --vars: %w", err)
		}
		if err := json.Unmarshal(text, &all); err != nil || all == nil {
			return nil, flags.Usage("--vars: %q is not one JSON object of variables", o.file)
		}
		if _, unnamed := all[""]; unnamed {
			return nil, flags.Usage("--vars: %q has a variable without a name", o.file)
		}
	}
	maps.Copy(all, o.single)
	return all, nil
}

// AsJSON returns a value as JSON: as written if it is JSON, else as a text.
func AsJSON(value string) json.RawMessage {
	if json.Valid([]byte(value)) {
		return json.RawMessage(strings.TrimSpace(value))
	}
	return term.AsText(value)
}
