package network

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/egress"
)

// NewCommand returns the command network.
func NewCommand(app *cli.App, at resources.Provider) *cobra.Command {
	cmd := &cobra.Command{
		Use: "network", Short: "Show where scripts may connect to",
		Long: `Shows what network: in mcpgen.yaml, and the level of the policy, let scripts reach that run with --network.
Without that flag a script has no network.`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newExplain(app, at))
	return cmd
}

// explain says what would happen to one request.
type explain struct {
	app  *cli.App
	host resources.Provider
	project.LocationFlags
	customer, method string
	json             bool
}

func newExplain(app *cli.App, at resources.Provider) *cobra.Command {
	o := &explain{app: app, host: at}
	cmd := &cobra.Command{
		Use: "explain URL", Short: "Show whether a script may make a request, and which line decides",
		Long: `Shows whether a script may make a request, which line of mcpgen.yaml decides, and whether the secrets that would be put in
can be read. Nothing is connected to, and no name is looked up: an allowed name that resolves to a private address is refused
when a script connects to it. Secrets are read only if you have agreed to the configuration (mcpgen trust). The exit code is
126 if the request would be refused.`,
		Example: `  mcprun network explain https://api.github.com/repos/ann/shop
  mcprun network explain https://api.github.com/repos/ann/shop --method DELETE --customer acme
  mcprun network explain tcp://db.example.com:5432`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&o.customer, "customer", "", "the customer that the run is for")
	f.StringVar(&o.method, "method", "GET", "the method of the request")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	o.LocationFlags.Bind(f)
	return cmd
}

// explained is the output of --json.
type explained struct {
	URL      string   `json:"url"`
	Decision string   `json:"decision"` // allow, ask or deny
	Rule     string   `json:"rule"`
	Reason   string   `json:"reason,omitempty"`
	Remedy   string   `json:"remedy,omitempty"`
	Inspects bool     `json:"inspects,omitempty"`
	Secrets  []secret `json:"credentials,omitempty"`
}

type secret struct {
	Header string `json:"header"`
	Secret string `json:"secret"`
	Error  string `json:"error,omitempty"`
}

func (o *explain) run(ctx context.Context, url string) error {
	p, err := o.OpenToRead(o.app, o.host, o.app.Stderr)
	if err != nil {
		return err
	}
	defer p.Close()
	n, err := Of(o.app, p)
	if err != nil {
		return err
	}
	rules, err := n.Rules(p.Policy, o.customer)
	if err != nil {
		return err
	}
	x := rules.Explain(o.method, url)
	out := explained{URL: url, Decision: "allow", Rule: x.Rule, Inspects: x.Inspects}
	switch {
	case x.Refused != nil:
		out.Decision, out.Rule, out.Reason, out.Remedy = "deny", string(x.Refused.Check), x.Refused.Reason, x.Refused.Remedy
	case x.Ask:
		out.Decision, out.Rule = "ask", egress.AskRule
	}
	trusted := o.Agreed(o.app, p.Cfg)
	for _, c := range x.Credentials {
		s := secret{Header: c.Header, Secret: c.Secret.String()}
		if !trusted {
			s.Error = "not read, because nobody has agreed to this configuration yet: mcpgen trust"
		} else if _, err := n.Secret(ctx, c.Secret); err != nil {
			s.Error, out.Decision, out.Rule = err.Error(), "deny", string(egress.ByCredential)
		}
		out.Secrets = append(out.Secrets, s)
	}
	if err := o.print(&out); err != nil {
		return err
	}
	if out.Decision == "deny" {
		return cli.Quiet(exit.Refused)
	}
	return nil
}

func (o *explain) print(out *explained) error {
	if o.json {
		return o.app.JSON(out)
	}
	w := o.app.Stdout
	fmt.Fprintf(w, "%s: %s, by %s\n", cli.EscapeLine(out.URL), out.Decision, cli.EscapeLine(out.Rule))
	if out.Reason != "" {
		fmt.Fprintf(w, "  %s\n", cli.EscapeLine(out.Reason))
	}
	if out.Remedy != "" {
		fmt.Fprintf(w, "  %s\n", cli.EscapeLine(out.Remedy))
	}
	if out.Inspects {
		fmt.Fprintln(w, "  mcprun reads the request (tls: inspect)")
	}
	for _, s := range out.Secrets {
		state := "can be read"
		if s.Error != "" {
			state = s.Error
		}
		fmt.Fprintf(w, "  puts %s into %s: %s\n", cli.EscapeLine(s.Secret), cli.EscapeLine(s.Header), cli.EscapeLine(state))
	}
	return nil
}
