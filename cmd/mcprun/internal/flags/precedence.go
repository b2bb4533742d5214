package flags

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config"
)

// EnvPrefix is the prefix of the variables that set flags.
const EnvPrefix = "MCPRUN_"

// ApplyDefaults sets flags that were not given on the command line, from the environment, else from .env, else from run: in mcpgen.yaml. Only
// flags that are keys of run: can be set there, and --pii in .env. The keys risk and trust are
// bounds, not defaults; their command applies them.
func ApplyDefaults(app *cli.App, flags *pflag.FlagSet, settings *config.Settings) error {
	var failed error
	flags.VisitAll(func(flag *pflag.Flag) {
		key := strings.ReplaceAll(flag.Name, "-", "_")
		if mode := settings.Variables[EnvPrefix+"PII"]; failed == nil && key == "pii" && flag.Value.String() == "" && app.Env(EnvPrefix+"PII") == "" && mode != "" {
			failed = dotEnvError(settings, EnvPrefix+"PII", flag.Value.Set(mode))
		}
		if failed != nil || flag.Changed || key == "risk" || key == "trust" || !config.IsRunKey(key) {
			return
		}
		env := EnvPrefix + strings.ToUpper(key)
		if value := app.Env(env); value != "" {
			if err := flag.Value.Set(value); err != nil {
				failed = &cli.UsageError{Err: fmt.Errorf("%s: %w", env, err), Command: "mcprun"}
			}
		} else if s, ok := settings.Run[key]; ok {
			if err := flag.Value.Set(s.Value); err != nil && s.Variable != "" {
				failed = dotEnvError(settings, s.Variable, err)
			} else if err != nil {
				failed = &config.FileError{File: settings.Path, Line: s.Line, Key: "run." + key, Problem: err.Error()}
			}
		}
	})
	return failed
}

// NamesState reports whether only the settings of the project name the database with its state. A person must agree to them before it is
// opened. It must be called before [ApplyDefaults].
func NamesState(app *cli.App, flags *pflag.FlagSet, settings *config.Settings) bool {
	flag := flags.Lookup("state")
	return flag != nil && !flag.Changed && app.Env(EnvPrefix+"STATE") == "" && settings.Run["state"].Value != ""
}

// dotEnvError returns the error of a variable in .env, or nil.
func dotEnvError(settings *config.Settings, variable string, err error) error {
	if err == nil {
		return nil
	}
	return &config.FileError{File: filepath.Join(filepath.Dir(settings.Path), config.DotEnvName), Key: variable, Problem: err.Error()}
}
