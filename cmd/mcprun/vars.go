package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
)

// maxVarsFile is the largest file of variables read, in bytes; the bridge's own limit explains itself.
const maxVarsFile = 64 << 20

// varOptions are the variables that a script is given.
type varOptions struct {
	single map[string]json.RawMessage
	file   string
}

func (o *varOptions) bind(f *pflag.FlagSet) {
	o.single = map[string]json.RawMessage{}
	f.Var(varFlag(o.single), "var", "a variable of the script: JSON if it is, else text; may be repeated")
	f.Var(word{&o.file, "file"}, "vars", "a file with a JSON object of variables; --var goes before it")
}

// values are all variables, by name.
func (o *varOptions) values(app *cli.App) (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if o.file != "" {
		text, err := readVars(app.Path(o.file))
		if err != nil {
			return nil, &cli.UsageError{Err: fmt.Errorf("read the variables of --vars: %w", err), Command: "mcprun"}
		}
		if err := json.Unmarshal(text, &all); err != nil || all == nil {
			return nil, usage("--vars: %q is not one JSON object of variables: %w", o.file, notObject(err))
		}
		if _, unnamed := all[""]; unnamed {
			return nil, usage("--vars: %q has a variable without a name", o.file)
		}
	}
	maps.Copy(all, o.single)
	return all, nil
}

// notObject says why a text is no JSON object.
func notObject(err error) error {
	if other, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind := map[string]string{"array": "a list", "bool": "true or false", "string": "a text"}[other.Value]
		return fmt.Errorf("it is %s", cmp.Or(kind, "a "+other.Value))
	}
	return cmp.Or(err, errors.New("it is null"))
}

func readVars(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxVarsFile+1))
	if err == nil && len(text) > maxVarsFile {
		err = fmt.Errorf("%q is larger than %s", path, byteCount(maxVarsFile))
	}
	return text, err
}

// varFlag is a flag value: NAME=VALUE, again and again.
type varFlag map[string]json.RawMessage

func (varFlag) String() string { return "" }
func (varFlag) Type() string   { return "name=value" }

func (v varFlag) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return fmt.Errorf("%q is no variable: write NAME=VALUE", text)
	}
	v[name] = asJSON(value)
	return nil
}

// asJSON is a value as JSON: as it is written when it is JSON, else as a text.
func asJSON(value string) json.RawMessage {
	if json.Valid([]byte(value)) {
		return json.RawMessage(strings.TrimSpace(value))
	}
	return asText(value)
}
