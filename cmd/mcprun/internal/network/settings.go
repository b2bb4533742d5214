// Package network gives runs what the project's settings allow of a network, and has the commands network explain and show.
package network

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/egress"
)

// connectToVariable replaces what the proxies of runs dial, as HOST:PORT:ADDRESS:PORT,…: for tests with servers on this machine. No
// configuration can set it.
const connectToVariable = "MCPRUN_NETWORK_CONNECT_TO"

// Of returns what the project's runs may have of a network.
func Of(app *cli.App, p *project.Project) (*runner.Network, error) {
	vars, err := config.DotEnv(filepath.Dir(p.Settings.Path))
	if err != nil {
		return nil, err
	}
	from := config.SecretSources{Dir: filepath.Dir(p.Settings.Path), Lookup: config.WithDotEnv(app.LookupEnv, vars), Environment: os.Environ()}
	if ring, ok := customers.Keyring(app); ok {
		from.Keyring = ring.Get
	}
	n := &runner.Network{
		Settings: &p.Settings.Network, File: p.Settings.Path, ConnectTo: map[string]string{},
		Secret: func(ctx context.Context, s *config.Secret) (string, error) { return s.Read(ctx, from) },
	}
	n.Certificates, err = egress.SystemCertificates(app.LookupEnv)
	for _, to := range strings.FieldsFunc(app.Env(connectToVariable), func(r rune) bool { return r == ',' }) {
		if parts := strings.SplitN(to, ":", 3); len(parts) == 3 {
			n.ConnectTo[parts[0]+":"+parts[1]] = parts[2]
		}
	}
	if a := p.Settings.Network.Alerts; a != nil {
		command := &egress.Command{Args: a.Command, Dir: from.Dir, Env: os.Environ()}
		p.OnClose(func() error { command.Wait(); return nil })
		n.Alert = command.Alert
	}
	return n, err
}
