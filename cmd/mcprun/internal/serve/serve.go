// Package serve has the command serve: it runs mcprun as an MCP server whose tools run scripts. The protocol is in
// runner/mcpserver; this package gives it the project, the customers and the runs.
package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/run"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/term"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
	"github.com/mcpgen/mcpgen/runner/mcpserver/bearer"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

const serveHelp = `mcprun serve runs as an MCP server for agents. execute_code runs a script that calls your other MCP
servers through the generated tree, in a sandbox. Other tools find tools, save skills, hide personal
data, and read and write files. An agent that has it needs no other server's definitions.

It uses standard input and output, or with --http streamable HTTP at /mcp. HTTP requires a bearer
token, from --token-file or MCPRUN_SERVE_TOKEN. Each line of the file has a token and, after a space,
its customer. Customers are isolated from each other.`

const serveExamples = `  mcprun serve                                       for a host that starts it
  mcprun serve --tools code                          only the tools that code needs, for the fewest tokens
  mcprun serve --tools passthrough                   the tree's own tools, for a host that runs code itself
  mcprun serve --customer acme                       with the files, skills and tokens of acme
  mcprun serve --http 127.0.0.1:8700 --token-file tokens.txt
  mcprun serve --http 127.0.0.1:8700 --no-token      loopback only; any local user may connect
  claude mcp add mcprun -- mcprun serve              in Claude Code`

// TokenVariable holds a bearer token.
const TokenVariable = flags.EnvPrefix + "SERVE_TOKEN"

// NewCommand returns the command serve.
func NewCommand(app *cli.App) *cobra.Command { return newCommand(app).cmd }

func newCommand(app *cli.App) *command {
	inner := &run.Options{App: app}
	inner.AnyConfig, inner.Home = true, true
	innerCmd := &cobra.Command{Use: "mcprun"}
	inner.Bind(innerCmd)
	o := &command{app: app, run: inner}
	o.cmd = &cobra.Command{
		Use: "serve", Short: "Run as an MCP server",
		Long: serveHelp, Example: serveExamples,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := o.serve(cmd.Context())
			if _, ok := errors.AsType[*cli.SignalError](context.Cause(cmd.Context())); ok && err == nil {
				return cli.Quiet(0) // an interrupt is the normal way to stop it
			}
			return err
		},
	}
	o.bind(o.cmd, innerCmd)
	return o
}

// bind registers the flags. Those that a run has too are the same values.
func (o *command) bind(cmd, runCmd *cobra.Command) {
	def := mcpserver.Options{}.WithDefaults()
	o.tools, o.parallel, o.queueTime, o.maxTime, o.maxMemory = string(def.Mode), def.Parallel, def.MaxWait, def.MaxTime, def.MaxMemory
	for name, usage := range map[string]string{
		"timeout":    "default time limit of a run, if timeout_seconds is not given, such as 90s or 2m",
		"memory":     "default memory limit of a run, if memory_mb is not given: megabytes, or with a unit such as 512MiB",
		"max-output": "return at most this many characters of output; the rest goes to a file (default 30000)",
		"workspace":  "folder that the project's scripts may write to, created if missing (default: workspace/, next to the tree)",
	} {
		runCmd.Flags().Lookup(name).Usage = usage
	}
	groups, shared := flags.NewGroups(cmd), &o.run.Shared
	groups.Add("Tools", func(f *pflag.FlagSet) {
		f.Var(flags.Choice(&o.tools, string(mcpserver.ModeCore), string(mcpserver.ModeAll), string(mcpserver.ModeCode), string(mcpserver.ModePassthrough)), "tools", "tools to list: core (the others are found by search_tools), all, code: only those needed to run code, or passthrough: instead the tools of the tree, for hosts that run code themselves")
		f.StringSliceVar(&o.languages, "languages", nil, "script languages; tools are shown in the first (default: typescript,python)")
		o.run.BindWorkflows(f)
		f.IntVar(&o.index, "index-tokens", def.IndexTokens, "maximum tokens for the list of servers and tools in execute_code's description; 0: no list")
	})
	groups.Add("Clients", func(f *pflag.FlagSet) {
		f.Var(flags.ID(&o.run.Customer, "customer", "id"), "customer", "use this customer's files, skills and personal data (default: those of the project)")
		f.AddFlagSet(shared.Customers)
		f.Var(customers.Prices(&o.prices), "prices", customers.PricesUsage+", for get_execution_stats")
		f.Var(flags.Text(&o.http, "address"), "http", "serve HTTP at this address, such as 127.0.0.1:8700, instead of standard input and output")
		f.Var(flags.Text(&o.tokenFile, "file"), "token-file", "bearer tokens, one a line, each with its customer (default "+TokenVariable+")")
		f.BoolVar(&o.noToken, "no-token", false, "with --http on a loopback address: accept anyone on this machine")
		f.StringSliceVar(&o.hosts, "allow-host", nil, "a Host header to accept besides loopback names")
		f.StringSliceVar(&o.origins, "allow-origin", nil, "an origin of web pages to accept, such as https://app.example.com")
	})
	groups.Add("Where code runs", func(f *pflag.FlagSet) { f.AddFlagSet(shared.Sandbox) })
	groups.Add("What it calls", func(f *pflag.FlagSet) { f.AddFlagSet(shared.Calls) })
	groups.Add("Limits", func(f *pflag.FlagSet) {
		f.Var(flags.Count(&o.parallel, 1), "parallel", "runs and calls at once; others wait (with --tools passthrough: 64)")
		f.Var(flags.Duration(&o.queueTime), "queue-time", "how long a run or call waits for its turn (with --tools passthrough: 5m)")
		f.Var(flags.NewRate(&o.rate), "rate", "runs and calls that may start in a time, over all processes that share the state and have the same flags, such as 100/1m; others wait")
		f.Var(flags.Duration(&o.maxTime), "max-timeout", "upper limit of timeout_seconds")
		f.Var(flags.Size(&o.maxMemory, sandbox.MinMemory), "max-memory", "upper limit of memory_mb")
		f.AddFlagSet(shared.Limits)
	})
	groups.Add("What is kept", func(f *pflag.FlagSet) { f.AddFlagSet(shared.Kept) })
	groups.Add("Output", func(f *pflag.FlagSet) { f.AddFlagSet(shared.Output) })
}

// serve serves until the input or ctx ends.
func (o *command) serve(ctx context.Context) error {
	if err := o.validate(); err != nil {
		return err
	}
	stderr := term.NewConsole(o.app)
	log, closeLog, err := o.openLog(stderr.Other())
	if err != nil {
		return err
	}
	defer closeLog()
	at := resources.NewWarm(log)
	defer at.Close()
	o.run.Resources = at
	o.run.Ending = func() error { return context.Cause(ctx) }
	o.run.JSON = true // output is bounded, and kept in the result
	if o.http == "" {
		o.run.Calls.Who.Session = audit.Text("serve-" + rand.Text()[:12]) // the only one of this process
	}
	l := &live{o: o, at: at, log: log, stderr: stderr.Other(), said: *o.run}
	defer l.Close()
	b, leave, err := l.enter(ctx)
	if err != nil {
		return err
	}
	opt := l.options(b)
	o = b.o // later projects may set other flags
	tel, release, err := at.Telemetry(b.project.Lookup, nil)
	if err == nil { // opening the project has reported any other case
		opt.Telemetry = tel
		defer release()
	}
	if b.project.AtHome && !o.run.Quiet {
		stderr.Say(cli.EscapeLine(fmt.Sprintf("mcprun: there is no project in %s; the files and skills of scripts are in %s, for all folders without a project", o.app.Dir, b.project.Base)))
	}
	if opt.Mode == mcpserver.ModePassthrough && b.tree == nil {
		log.Warn("there is no generated tree, so there are no tools to list; make one with: mcpgen sync")
	}
	leave()
	var tokens *bearer.Tokens
	if o.http != "" {
		if tokens, err = o.tokens(b.project.Lookup); err != nil {
			return err
		}
		if tokens != nil && len(tokens.Customers()) > 1 {
			opt.Share = max(1, opt.WithDefaults().Parallel*3/4) // so that one customer cannot take all
		}
	}
	if o.run.State.Records(true) { // then there is a state
		if err := l.share(ctx, opt); err != nil && (!errors.Is(err, state.ErrNoPlace) || o.run.State.Asked()) {
			return err
		}
	}
	if opt.Engine == nil && len(opt.Project.Workflows) > 0 {
		log.Warn("workflows are not offered as tools: they need a state, and the key of the vault")
	}
	if opt.Engine == nil && o.rate.Count > 0 {
		return o.usage("--rate needs a state, which all processes share, and the key of the vault: give --state, and not --audit=false")
	}
	server, err := mcpserver.New(opt)
	if err != nil {
		return err
	}
	defer server.Close()
	defer l.schedule(ctx)()
	if opt.Mode != mcpserver.ModePassthrough { // which runs nothing
		defer l.warm(ctx, opt.Languages)()
	}
	defer l.follow(ctx, server)()
	if o.http != "" {
		return o.serveHTTP(ctx, server, tokens, l.login)
	}
	if o.app.Terminal.Stdin && !o.run.Quiet {
		stderr.Say("mcprun: serving MCP on standard input and output, for a client program; end it with Ctrl-D")
	}
	return server.Stdio(ctx, o.run.Customer, io.NopCloser(o.app.Stdin), nopCloser{o.app.Stdout})
}

// validate reports conflicting flags.
func (o *command) validate() error {
	for _, l := range o.languages {
		if l != mcpserver.TypeScript && l != mcpserver.Python {
			return o.usage("--languages %q is neither typescript nor python", l)
		}
	}
	http := []struct {
		name string
		said bool
	}{{"--token-file", o.tokenFile != ""}, {"--no-token", o.noToken}, {"--allow-host", len(o.hosts) > 0}, {"--allow-origin", len(o.origins) > 0}}
	for _, f := range http {
		if f.said && o.http == "" {
			return o.usage("%s needs --http", f.name)
		}
	}
	if o.run.Customer != "" && o.run.Cmd.Flags().Changed("workspace") {
		return o.usage("--customer and --workspace both say where scripts write: give one of the two")
	}
	if o.noToken && o.tokenFile != "" {
		return o.usage("--no-token and --token-file: give one of the two")
	}
	return nil
}

// openLog opens the log, at the level of --debug or --quiet, else of the environment or of a project that somebody has agreed to.
func (o *command) openLog(stderr io.Writer) (*slog.Logger, func() error, error) {
	var settings *config.Settings
	if cfg, err := o.run.Load(o.app); err == nil && cfg != nil && o.run.Agreed(o.app, cfg) { // an error is reported when the project is opened
		settings = &cfg.Settings
	}
	var flag *slog.Level
	switch {
	case o.run.Debug:
		flag = new(slog.LevelDebug)
	case o.run.Quiet:
		flag = new(slog.LevelError)
	}
	return project.OpenLog(o.app, settings, stderr, flag, slog.LevelWarn)
}

// tokens reads the bearer tokens that HTTP clients need. Nil accepts everybody.
func (o *command) tokens(lookup config.Lookup) (*bearer.Tokens, error) {
	if o.noToken {
		return nil, nil
	}
	text, _ := lookup(TokenVariable)
	text, from := strings.TrimSpace(text), TokenVariable
	if o.tokenFile != "" {
		from = "--token-file"
		data, err := readPrivate(o.app.Path(o.tokenFile))
		if err != nil {
			return nil, o.usage("--token-file: %w", err)
		}
		text = string(data)
	}
	if text == "" {
		return nil, o.usage("--http needs a bearer token: give --token-file FILE, or set %s (make one with: openssl rand -hex 32); on a loopback address --no-token does without", TokenVariable)
	}
	t, err := bearer.Read([]byte(text), o.run.Customer)
	if err != nil {
		return nil, o.usage("%s: %w", from, err)
	}
	for _, id := range t.Customers() {
		if id == "" {
			continue // the project
		}
		if err := customer.CheckID("customer", id); err != nil {
			return nil, o.usage("%s: %w", from, err)
		}
	}
	return t, nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
