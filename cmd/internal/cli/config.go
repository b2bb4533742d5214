package cli

import "github.com/spf13/pflag"

// ConfigVariable is the environment variable that names the file of servers if --config is not given.
const ConfigVariable = "MCPGEN_CONFIG"

// ConfigHelp says in the help of both programs where servers are read from.
const ConfigHelp = "$" + ConfigVariable + ", config in mcpgen.yaml, mcpgen.json or .mcp.json, here or above"

// BindConfig adds --config.
func BindConfig(f *pflag.FlagSet, named *[]string) {
	f.StringArrayVar(named, "config", nil, "read the servers from this `file`; may be given several times (default: "+ConfigHelp+")")
}

// Configs returns the files of servers that the user named with --config, or else with the variable. If there are none, the
// caller looks for them.
func (a *App) Configs(named []string) []string {
	if file := a.Env(ConfigVariable); len(named) == 0 && file != "" {
		return []string{file}
	}
	return named
}
