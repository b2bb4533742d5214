package upstream

import (
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
)

const (
	// startTime is the default time limit for a server to become ready. installTime is the limit for a server that may have
	// to be downloaded or built first.
	startTime   = 60 * time.Second
	installTime = 5 * time.Minute
)

// installers returns the commands that may install a server before they run it, with the subcommands that do so; nil means
// all.
func installers() map[string][]string {
	return map[string][]string{
		"npx": nil, "pnpx": nil, "bunx": nil, "uvx": nil, "dnx": nil,
		"npm": {"exec", "x"}, "pnpm": {"dlx"}, "yarn": {"dlx"}, "bun": {"x"}, "uv": {"run", "tool"}, "pipx": {"run"},
		"docker": {"run"}, "podman": {"run"}, "go": {"run"},
	}
}

// installs reports whether a command may install the server before it runs it.
func installs(command string, args []string) bool {
	name, rest := config.Program(command, args)
	verbs, known := installers()[name]
	return known && (verbs == nil || slices.ContainsFunc(rest, func(arg string) bool { return slices.Contains(verbs, arg) }))
}

// connectTimeout returns the time limit for connecting to a server: its own setting, else the one for all servers, else the
// default for its command.
func (o *Options) connectTimeout(srv config.Server) time.Duration {
	switch {
	case srv.StartupTimeout > 0:
		return srv.StartupTimeout
	case o.ConnectTimeout > 0:
		return o.ConnectTimeout
	case srv.Transport == config.TransportStdio && installs(srv.Command, srv.Args):
		return installTime
	}
	return startTime
}
