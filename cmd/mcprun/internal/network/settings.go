// Package network gives runs what the project's settings allow of a network, and has the commands network explain and show.
package network

import (
	"context"
	"fmt"
	"net/netip"
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
// configuration can set it, and an address that is not this machine's is an error: who starts mcprun cannot lead scripts into a network.
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
		parts := strings.SplitN(to, ":", 3)
		at, bad := netip.ParseAddrPort(parts[len(parts)-1])
		if len(parts) != 3 || bad != nil || !at.Addr().IsLoopback() {
			return nil, cli.WithHint(fmt.Errorf("%s: %q is not HOST:PORT:ADDRESS:PORT with an address of this machine", connectToVariable, to), "it is for tests; write it as api.example.com:443:127.0.0.1:8443")
		}
		n.ConnectTo[parts[0]+":"+parts[1]] = parts[2]
	}
	if a := p.Settings.Network.Alerts; a != nil {
		command := &egress.Command{Args: a.Command, Dir: from.Dir, Env: os.Environ()}
		p.OnClose(func() error { command.Wait(); return nil })
		n.Alert = command.Alert
	}
	return n, err
}
