package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/internal/trust"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/config"
)

type loginOptions struct {
	app       *cli.App
	place     configFlags
	noBrowser bool
	paste     bool
	list      bool
	localhost bool
	port      int
	scopes    []string
}

func newLoginCmd(app *cli.App) *cobra.Command {
	o := &loginOptions{app: app}
	cmd := &cobra.Command{
		Use:   "login SERVER",
		Short: "Log in to a remote server that asks for it",
		Long: `login opens the browser at a remote server's login page and stores the resulting tokens. sync and mcprun then send them and
renew them. They are stored in the system's keyring or, without a keyring, in a file that only you can read.
` + cli.KeyringVariable + `=off disables the keyring.

The login page sends the browser back to this machine. Without a browser here, open the printed address on another machine,
log in, and paste the address that the browser could not load.

A new login replaces the old one. If a server refused a call because a scope was missing, the new login asks for it too.

Exit codes: 0 logged in, 2 usage or configuration, 3 the login failed, 130 interrupted.`,
		Example: `  mcpgen login linear
  mcpgen login linear --no-browser    # print the address only
  mcpgen login linear --scope read --scope write
  mcpgen login --list                 # what is there`,
		Args: cli.Args(func(cmd *cobra.Command, args []string) error {
			if o.list {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.list {
				return o.printList()
			}
			return o.run(cmd.Context(), args[0])
		},
	}
	o.place.bind(cmd)
	trust.Bind(cmd.Flags(), &o.place.trusted)
	cmd.ValidArgsFunction = cli.CompleteArgs(1, configuredServers(app, &o.place))
	f := cmd.Flags()
	f.BoolVar(&o.noBrowser, "no-browser", false, "print the address, and do not open a browser")
	f.BoolVar(&o.paste, "paste", false, "read the address that the browser was sent to from standard input, even if it is not a terminal")
	f.BoolVar(&o.list, "list", false, "list the stored logins, and do not log in")
	f.BoolVar(&o.localhost, "localhost", false, "use localhost instead of 127.0.0.1 in the redirect address, for clients registered that way")
	f.IntVar(&o.port, "port", 0, "`port` of the redirect address (default: callbackPort in the configuration, else any)")
	f.StringArrayVar(&o.scopes, "scope", nil, "ask for this `scope`; may be given several times (default: those that the server names)")
	return cmd
}

func (o *loginOptions) run(ctx context.Context, server string) error {
	if o.port < 0 || o.port > 65535 {
		return &cli.UsageError{Err: fmt.Errorf("there is no port %d", o.port), Command: "mcpgen login"}
	}
	up := upstreamOptions(o.app)
	if up.Logins == nil {
		_, err := o.app.StateDir()
		return err
	}
	how := gen.LoginOptions{Scopes: o.scopes, Port: o.port, Localhost: o.localhost, Person: gen.Person{
		Visit: func(address, back string) error { return o.visit(ctx, server, address, back) },
		Note:  func(text string) { o.say("%s\n", cli.EscapeLine(text)) },
	}}
	if o.paste || o.app.Terminal.Stdin {
		how.Person.Paste = o.app.Stdin
	}
	result, err := gen.Login(ctx, o.place.options(o.app), up, server, how)
	if err != nil {
		return err
	}
	return o.print(server, result)
}

// visit opens the address in the browser, or tells the user to.
func (o *loginOptions) visit(ctx context.Context, server, address, back string) error {
	opened := false
	if !o.noBrowser {
		opened = o.app.OpenBrowser(ctx, address)
	}
	style := o.app.ErrStyle()
	switch {
	case opened:
		o.say("Log in to %s in the browser. If none has opened, open this address:\n\n%s\n\n", style.Bold(cli.EscapeLine(server)), cli.EscapeLine(address))
	case o.noBrowser:
		o.say("Log in to %s at this address:\n\n%s\n\n", style.Bold(cli.EscapeLine(server)), cli.EscapeLine(address))
	default:
		o.say("There is no browser here. Log in to %s at this address, on any machine:\n\n%s\n\n", style.Bold(cli.EscapeLine(server)), cli.EscapeLine(address))
	}
	if !opened && (o.paste || o.app.Terminal.Stdin) {
		o.say("On another machine the browser ends at %s, which it can't load there.\n"+
			"Copy that whole address from its address bar, and paste it here:\n", cli.EscapeLine(back))
	}
	return nil
}

func (o *loginOptions) say(format string, args ...any) {
	_, _ = fmt.Fprintf(o.app.Stderr, format, args...) // if it fails, the user still sees the login fail
}

func (o *loginOptions) print(server string, r *gen.LoginResult) error {
	where := "the system's keyring"
	if !r.InKeyring {
		where = r.Path
	}
	text := fmt.Sprintf("logged in to %s at %s: %s", cli.EscapeLine(server), cli.EscapeLine(r.Issuer), cli.Count(r.Tools, "tool"))
	if len(r.Scopes) > 0 {
		text += ", scopes " + cli.EscapeLine(strings.Join(r.Scopes, " "))
	}
	text += "\nkept in " + cli.EscapeLine(where)
	if !r.Renewable && !r.Expires.IsZero() {
		text += fmt.Sprintf("; it ends in %s and can't be renewed", config.FormatDuration(time.Until(r.Expires).Round(time.Minute)))
	}
	_, err := fmt.Fprintln(o.app.Stdout, text)
	return err
}

// printList prints the stored logins.
func (o *loginOptions) printList() error {
	logins := upstreamOptions(o.app).Logins
	if logins == nil {
		_, err := o.app.StateDir()
		return err
	}
	kept, err := logins.List()
	if err != nil {
		return err
	}
	var rows [][]string
	for _, k := range kept {
		where := "file"
		if k.InKeyring {
			where = "keyring"
		}
		if k.Err != nil {
			rows = append(rows, []string{"?", cli.EscapeLine(k.Err.Error()), "", "", ""})
			continue
		}
		rows = append(rows, []string{cli.EscapeLine(k.Server), cli.EscapeLine(k.Origin), cli.EscapeLine(k.Issuer), cli.EscapeLine(strings.Join(k.Scopes, " ")), where})
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(o.app.Stdout, "there are no logins")
		return err
	}
	return cli.Table(o.app.Stdout, o.app.OutStyle(), []string{"server", "at", "login by", "scopes", "kept in"}, rows)
}

// configFlags name the configuration.
type configFlags struct {
	configs []string
	trusted bool
}

func (f *configFlags) bind(cmd *cobra.Command) {
	cli.BindConfig(cmd.Flags(), &f.configs)
	_ = cmd.MarkFlagFilename("config", "json", "jsonc", "toml") // fails only for a flag that does not exist
}

func (f *configFlags) options(app *cli.App) gen.Options {
	return gen.Options{Configs: app.Configs(f.configs), Dir: app.Dir, Consent: f.gate(app).Check}
}

// gate decides whether the configuration may be used.
func (f *configFlags) gate(app *cli.App) trust.Gate {
	return trust.Gate{App: app, Named: app.Configs(f.configs), All: f.trusted}
}

// upstreamOptions returns the options for connections to servers.
func upstreamOptions(app *cli.App) gen.UpstreamOptions {
	out := gen.UpstreamOptions{LookupEnv: app.LookupEnv, Version: cli.Version()}
	if dir, err := app.StateDir(); err == nil { // without a state folder there are no logins, and a server that requires one fails with a hint
		out.Logins = gen.NewLogins(filepath.Join(dir, "logins"), app.Keyring())
	}
	return out
}
