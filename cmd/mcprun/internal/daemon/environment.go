package daemon

import (
	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
)

// IdleVariable sets how long a daemon that was started on demand runs without work.
const IdleVariable = flags.EnvPrefix + "DAEMON_IDLE"

// ambientNames returns the variables that libraries read from their own process. The daemon has the values of the client that
// started it.
func ambientNames() []string {
	return []string{
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy", "REQUEST_METHOD",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "TMPDIR", "TZ", "GODEBUG", "DBUS_SESSION_BUS_ADDRESS", "RES_OPTIONS", "LOCALDOMAIN",
	}
}

// keptNames returns the other variables that the daemon is started with. None is a secret.
func keptNames() []string { return []string{"PATH", "HOME", "USER", "LOGNAME", "XDG_RUNTIME_DIR"} }

// daemonEnv returns the environment of the daemon.
func daemonEnv(app *cli.App) []string {
	var env []string
	for _, name := range append(ambientNames(), keptNames()...) {
		if value, ok := app.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
