package flags

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/ident"
)

// environmentOnly are variables of mcprun that have no effect in a .env: a project must not decide about them.
func environmentOnly() []string {
	return []string{EnvPrefix + "DAEMON_IDLE", EnvPrefix + "NETWORK_CONNECT_TO"}
}

// UnknownVariables describes the names MCPRUN_* in the project's .env that have no effect. Those that the configuration refers to are left
// out.
func UnknownVariables(cfg *config.Config) []string {
	if len(cfg.Settings.Unknown) == 0 {
		return nil
	}
	var referring []byte
	for _, path := range append(slices.Clone(cfg.Paths), cfg.Settings.Path) {
		text, _ := os.ReadFile(path)
		referring = append(referring, text...)
	}
	var out []string
	for _, name := range cfg.Settings.Unknown {
		if bytes.Contains(referring, []byte(name)) {
			continue
		}
		text := fmt.Sprintf("%s: there is no setting %s", config.DotEnvName, name)
		switch near := ident.Nearest(name, config.Variables(), 1); {
		case slices.Contains(environmentOnly(), name):
			text = fmt.Sprintf("%s: %s has no effect there; it is read from the environment only", config.DotEnvName, name)
		case len(near) > 0:
			text += fmt.Sprintf("; did you mean %s?", near[0])
		}
		out = append(out, text)
	}
	return out
}
