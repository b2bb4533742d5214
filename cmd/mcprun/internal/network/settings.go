// Package network gives runs what the project's settings allow of a network, and has the command network explain.
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
// configuration can set it, and an address that is not this machine's is an error, so that whoever starts mcprun cannot
// lead scripts into a network.
const connectToVariable = "MCPRUN_NETWORK_CONNECT_TO"

// Of returns what the project's runs may have of a network. Secrets and certificates are read when a run needs them.
func Of(app *cli.App, p *project.Project) (*runner.Network, error) {
	dir := filepath.Dir(p.Settings.Path)
	from := config.SecretSources{Dir: dir, Environment: os.Environ()}
	if ring, ok := customers.Keyring(app); ok {
		from.Keyring = ring.Get
	}
	n := &runner.Network{
		Settings: &p.Settings.Network, File: p.Settings.Path,
		Certificates: func() ([]byte, error) { return egress.SystemCertificates(app.LookupEnv) },
		Secret: func(ctx context.Context, s *config.Secret) (string, error) {
			vars, err := config.DotEnv(dir)
			if err != nil {
				return "", err
			}
			here := from
			here.Lookup = config.WithDotEnv(app.LookupEnv, vars)
			return s.Read(ctx, here)
		},
	}
	if a := p.Settings.Network.Alerts; a != nil {
		command := &egress.Command{Args: a.Command, Dir: dir, Env: from.Environment, Logger: p.Log}
		p.OnClose(func() error { command.Wait(); return nil })
		n.Alert = command.Alert
	}
	var err error
	n.ConnectTo, err = connectTo(app.Env(connectToVariable))
	return n, err
}

// connectTo reads what is dialled instead of what scripts connect to.
func connectTo(text string) (map[string]string, error) {
	out := map[string]string{}
	for _, to := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		parts := strings.SplitN(to, ":", 3)
		at, err := netip.ParseAddrPort(parts[len(parts)-1])
		if len(parts) != 3 || err != nil || !at.Addr().IsLoopback() {
			return nil, cli.WithHint(fmt.Errorf("%s: %q is not HOST:PORT:ADDRESS:PORT with an address of this machine", connectToVariable, to), "it is for tests; write it as api.example.com:443:127.0.0.1:8443")
		}
		out[parts[0]+":"+parts[1]] = parts[2]
	}
	return out, nil
}
