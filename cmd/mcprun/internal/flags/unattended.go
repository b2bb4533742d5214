package flags

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config"
)

// UnattendedError reports a flag or variable that the project's policy does not accept without a terminal.
type UnattendedError struct {
	// Given is the flag or variable, Key its name in policy.unattended.
	Given, Key string
	// File is the mcpgen.yaml with the policy.
	File string
}

func (e *UnattendedError) Error() string {
	return fmt.Sprintf("%s is not accepted without a terminal: the operator of this project has not written unattended: [%s] below policy: in %s", e.Given, e.Key, e.File)
}

// ExitCode returns the exit code of a refusal.
func (*UnattendedError) ExitCode() int { return 126 }

// Attended reports whether a person sees the program's messages, because standard error is a terminal. Otherwise a model may have
// given the flags, and may read the answer.
func Attended(app *cli.App) bool { return app.Terminal.Stderr }

// CheckUnattended refuses flags that decide about calls in place of a person, that switch the record off, or that name another state than the
// settings, and environment variables that set them, if there is no terminal and the project has a policy, or asks about connections, and does
// not list them. A mode of --pii that hides less than the
// settings is refused in the same way. It must be called before [ApplyDefaults].
func CheckUnattended(app *cli.App, flags *pflag.FlagSet, settings *config.Settings) error {
	if Attended(app) {
		return nil
	}
	if err := checkPII(app, flags, settings); err != nil {
		return err
	}
	if settings.Policy.File == "" && settings.Network.Default != "ask" {
		return nil
	}
	// A value that allows nothing is always accepted.
	guarded := []struct{ key, harmless string }{{"allow", ""}, {"allow_drift", "false"}, {"approve", "none"}, {"approve_command", ""}, {"audit", "true"}}
	if state := settings.Run["state"].Value; state != "" {
		guarded = append(guarded, struct{ key, harmless string }{"state", state})
	}
	for _, f := range guarded {
		flag := flags.Lookup(strings.ReplaceAll(f.key, "_", "-"))
		if flag == nil || slices.Contains(settings.Policy.Unattended, f.key) {
			continue
		}
		given, value := "--"+flag.Name, flag.Value.String()
		if !flag.Changed {
			given = EnvPrefix + strings.ToUpper(f.key)
			value = app.Env(given)
			if value == "" || !config.IsRunKey(f.key) {
				continue
			}
		}
		if on, err := strconv.ParseBool(value); err == nil {
			value = strconv.FormatBool(on)
		}
		if value != f.harmless {
			return &UnattendedError{Given: given, Key: f.key, File: config.SettingsName}
		}
	}
	return nil
}

// Guardrails returns the guardrails of the settings as .env and the environment change them. Without a terminal, the environment cannot make
// them less strict, unless the policy accepts that.
func Guardrails(app *cli.App, settings *config.Settings) (config.Guardrails, error) {
	own, _, err := settings.Guardrails.With(func(name string) string { return settings.Variables[name] })
	if err != nil {
		return own, cli.WithHint(fmt.Errorf("%s: %w", config.DotEnvName, err), "write true or false")
	}
	out, loosened, err := own.With(app.Env)
	switch {
	case err != nil:
		return own, Usage("%w", err)
	case loosened != "" && !Attended(app) && !slices.Contains(settings.Policy.Unattended, "guardrails"):
		return own, &UnattendedError{Given: loosened, Key: "guardrails", File: config.SettingsName}
	}
	return out, nil
}

// checkPII refuses a mode of --pii that hides less personal data than the settings.
func checkPII(app *cli.App, flags *pflag.FlagSet, settings *config.Settings) error {
	flag := flags.Lookup("pii")
	if flag == nil || slices.Contains(settings.Policy.Unattended, "pii") {
		return nil
	}
	given, mode := "--pii", flag.Value.String()
	if mode == "" {
		given = EnvPrefix + "PII"
		mode = app.Env(given)
	}
	least := settings.PII.Mode
	if mode == string(config.PIIOff) { // which counts for all servers and customers; of other modes, the file keeps what hides more
		least = settings.PII.Strictest()
	}
	if mode == "" || config.PIIMode(mode).Hides(least) {
		return nil
	}
	return &UnattendedError{Given: given + " " + mode, Key: "pii", File: config.SettingsName}
}
