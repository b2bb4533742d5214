package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/source"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/term"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// NewCallCommand returns the command call.
func NewCallCommand(app *cli.App, at resources.Provider) *cobra.Command {
	o := &callCommand{app: app, host: at}
	cmd := &cobra.Command{
		Use: "call [URL|COMMAND] TOOL [NAME=VALUE...] [-]", Short: "Call one tool, or list the tools",
		Long: `Calls a tool as a script would, and prints the result: structured content as JSON, else its text.
TOOL is server__tool or server.tool. Without a generated tree, the server of the configuration is asked
for its tools. With a URL, or with a COMMAND that is quoted as one word, the call goes to that server,
and TOOL is its own name for the tool. It needs no configuration, and no policy applies.
A VALUE is converted to the type in the tool's schema; NAME:=JSON is JSON. With -, or without
arguments if the tool requires some, a JSON object is read from standard input.
If the tool fails, its text goes to standard error and the exit code is 1.`,
		Example: `  mcprun call drive__get_sheet sheet_id=rollout-plan
  mcprun call crm__create_record object_type=Account data:='{"Name": "Bern"}'
  echo '{"object_type": "Lead", "limit": 1}' | mcprun call crm__query_records
  mcprun call --list drive
  mcprun call https://mcp.example.com/mcp search query=sandbox
  mcprun call 'npx -y @modelcontextprotocol/server-everything' echo message=hello`,
		RunE: func(cmd *cobra.Command, args []string) error {
			server := ""
			if len(args) > 0 && config.IsServerText(args[0]) {
				server, args = args[0], args[1:]
			}
			switch {
			case o.list && server != "":
				return o.listServer(cmd.Context(), server)
			case o.list:
				return o.listTools(args)
			case len(args) == 0:
				return cli.Usage(cmd, "name a tool; --list lists them")
			}
			return o.run(cmd, server, args[0], args[1:])
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.list, "list", false, "list the tools, of all servers or of the named ones")
	f.BoolVar(&o.json, "json", false, "print the whole result, with content and isError")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing but errors and the result")
	f.Var(flags.Duration(&o.timeout), "timeout", "limit of the call, such as 90s or 2m (default: the server's timeout, else 60s)")
	f.Var(flags.Text(&o.elicit, "how"), "elicit", "who answers the server's questions: prompt, decline, or a file of answers (default prompt in a terminal)")
	o.LocationFlags.Bind(f)
	o.callFlags.bindShared(f)
	o.callFlags.bind(f)
	o.state.Bind(f)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		most := 1 // a tool
		if o.list {
			most = 0 // any number of servers
		}
		return cli.CompleteArgs(most, o.words)(cmd, args, word)
	}
	return cmd
}

// words offers the servers of the tree with --list, else its tools.
func (o *callCommand) words() ([]string, error) {
	p, tree, err := o.openTree(io.Discard)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	var words []string
	for _, s := range tree.Catalog.Servers {
		if o.list {
			words = append(words, s.Key)
			continue
		}
		for _, t := range s.Tools {
			words = append(words, t.ID)
		}
	}
	return words, nil
}

// openTree opens the project and reads its tree. The caller closes the project.
func (o *callCommand) openTree(stderr io.Writer) (*project.Project, *gen.Tree, error) {
	p, err := o.OpenToRead(o.app, o.host, stderr)
	if err != nil {
		return nil, nil, err
	}
	if p.Tree == "" {
		return nil, nil, errors.Join(noTree(p), p.Close())
	}
	tree, err := gen.Open(gen.Options{Out: p.Tree})
	if err != nil {
		return nil, nil, errors.Join(err, p.Close())
	}
	return p, tree, nil
}

func (o *callCommand) listTools(names []string) error {
	p, tree, err := o.openTree(o.app.Stderr)
	if err != nil {
		return err
	}
	defer p.Close()
	var rows [][]string
	var known []string
	found := map[string]bool{}
	for i := range tree.Catalog.Servers {
		s := &tree.Catalog.Servers[i]
		known = append(known, s.Key)
		if len(names) > 0 && !contains(names, s) {
			continue
		}
		found[s.Dir], found[s.Key] = true, true
		for _, t := range s.Tools {
			rows = append(rows, []string{t.ID, firstLine(t)})
		}
	}
	for _, name := range names {
		if !found[name] {
			return &cli.UsageError{
				Err:     fmt.Errorf("no server %q in the tree; mcprun call --list lists all", name),
				Command: "mcprun call", Near: cli.Near(name, known),
			}
		}
	}
	return o.app.Table([]string{"TOOL", "DESCRIPTION"}, rows)
}

func contains(names []string, s *catalog.Server) bool {
	for _, name := range names {
		if name == s.Dir || name == s.Key {
			return true
		}
	}
	return false
}

func (o *callCommand) run(cmd *cobra.Command, server, tool string, pairs []string) error {
	con := term.NewConsole(o.app)
	defer con.Close()
	p, tools, err := o.open(cmd.Context(), con.Other(), server, tool)
	if err != nil {
		return err
	}
	defer p.Close()
	if tool, err = tools.resolve(tool); err != nil {
		return err
	}
	if err := flags.CheckUnattended(o.app, cmd.Flags(), &p.Settings); err != nil {
		return err
	}
	if err := flags.ApplyDefaults(o.app, cmd.Flags(), &p.Settings); err != nil {
		return err
	}
	var input json.RawMessage
	if _, t, ok := tools.Lookup(tool); ok {
		input = t.Input
	}
	args, values, err := o.arguments(cmd.Context(), input, pairs)
	if err != nil {
		return err
	}
	if err := o.callFlags.validate(o.app, p); err != nil {
		return err
	}
	if cmd.Flags().Changed("timeout") {
		o.Calls.Timeout = o.timeout
	}
	o.setPolicy(p)
	r, err := o.host.Runner(&runner.Options{Tree: p.Tree, Catalog: tools.Catalog, Upstreams: p.Upstreams, Servers: p.Servers, Telemetry: p.Telemetry, Logger: p.Log})
	if err != nil {
		return err
	}
	if !o.quiet {
		o.WarnMisspelt(&Host{Runner: r}, func(line string) { con.Say("mcprun: " + line) })
	}
	asked, err := term.NewElicitor(o.app, con, term.TerminalName(), o.elicit)
	if err != nil {
		return err
	}
	defer asked.Close()
	asked.Quiet = o.quiet
	atTerminal := func() (approve.Approver, error) { return asked.Approver(term.TerminalName()) }
	if o.Calls.Approver, err = o.approver(o.app, p, "", func(line string) { con.Say("mcprun: " + line) }, approverWays{approveTerminal: atTerminal}); err != nil {
		return err
	}
	sayMoved := func(line string) { con.Say("mcprun: " + line) }
	open := func() (*pii.Vault, error) { return customers.OpenVault(o.app, p, nil, "", sayMoved) }
	if o.Calls.Personal, err = o.pii.Personal(o.app, &p.Settings.PII, "", o.json, open); err != nil {
		return err
	}
	asked.Personal = o.Calls.Personal
	o.state.Attach(o.app, p)
	o.Calls.Cache = NewCache(o.app, p, "")
	if err := Record(cmd.Context(), o.app, &o.state, p, &o.Calls, false, func(line string) { con.Say("mcprun: " + line) }); err != nil {
		return err
	}
	o.Calls.Issued = o.pii.Issued(o.app, &p.Settings.PII, "", func() (*pii.Vault, error) { return customers.OpenUsedVault(o.app, p, nil, "", sayMoved) })
	d := runner.DirectCall{Tool: tool, Args: args, Values: values, Calls: o.Calls, Elicit: asked.Answer}
	files, err := o.openFiles(o.app, &d.Calls)
	if err != nil {
		return err
	}
	watcher := term.NewWatcher(o.app, con, o.quiet)
	d.Watch = watcher.Event
	res, record, _, err := r.Call(cmd.Context(), d)
	watcher.Close()
	if err = errors.Join(err, files.Close()); err != nil {
		err = callFailure(cmd.Context(), err)
	}
	if p := o.Calls.Personal; p != nil {
		if why := p.Outlet.Trouble(); why != nil {
			con.Say("mcprun: " + cli.ErrorLine(fmt.Errorf("personal data was replaced by something that cannot be restored: %w", why)))
		}
	}
	if o.replay == "" {
		o.keepDecisions(cmd.Context(), p, &record, err, func(line string) { con.Say("mcprun: " + line) })
	}
	if err != nil {
		return err
	}
	if res.As == call.AsDry {
		con.Say(fmt.Sprintf("mcprun: dry run: skipped %s %s", tool, cli.EscapeLine(string(record.Arguments))))
		if record.Skipped != "" && !o.quiet {
			con.Say("mcprun: " + cli.EscapeLine(record.Skipped))
		}
		return nil
	}
	return o.print(res)
}

// keepDecisions keeps what policy and people decided about the call.
func (o *callCommand) keepDecisions(ctx context.Context, p *project.Project, record *chain.CallRecord, err error, say func(string)) {
	run := &customer.Run{Name: "mcprun call", Cause: string(runner.CauseExit), DurationMS: record.DurationMS, Calls: []customer.Call{runner.LoggedCall(record)}, CallCount: 1, Cache: record.CacheUse().Some()}
	if err != nil {
		run.ExitCode, run.Cause, run.Message = exit.Of(err, exit.Runner), string(runner.CauseError), err.Error()
	}
	keepDecisions(ctx, o.app, &o.state, p, &o.Calls, run, say)
}

// arguments returns the JSON object from standard input, if it is to be read, and the values that override it. For a tool without
// required arguments standard input is not read, because it may be a pipe that is never closed.
func (o *callCommand) arguments(ctx context.Context, input json.RawMessage, pairs []string) (args json.RawMessage, values []string, err error) {
	var s struct {
		Required []string `json:"required"`
	}
	_ = json.Unmarshal(input, &s) // a schema that cannot be read requires nothing
	fromStdin := len(pairs) == 0 && !o.app.Terminal.Stdin && len(s.Required) > 0
	if n := len(pairs); n > 0 && pairs[n-1] == "-" {
		pairs, fromStdin = pairs[:n-1], true
	}
	if !fromStdin {
		return nil, pairs, nil
	}
	if args, err = source.ReadStdin(ctx, o.app.Stdin); err != nil {
		return nil, nil, fmt.Errorf("read the arguments from standard input: %w", err)
	}
	if args = bytes.TrimSpace(args); len(args) > 0 && args[0] != '{' {
		return nil, nil, &cli.UsageError{Err: fmt.Errorf("the arguments are not one JSON object: %.80q", args), Command: "mcprun call"}
	}
	return args, pairs, nil
}

// callFailure returns the error of a call without a result. A timeout and a refusal have the same exit codes as in a run.
func callFailure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if failed, ok := errors.AsType[*call.Error](err); ok {
		return &codedError{err, failed.Kind.ExitCode(exit.Runner)}
	}
	return err
}

// codedError is an error with an exit code.
type codedError struct {
	error
	code int
}

func (e *codedError) Unwrap() error { return e.error }

func (e *codedError) ExitCode() int { return e.code }

// block is a content block of an answer: a text, or JSON for any other kind.
type block string

func (b *block) UnmarshalJSON(raw []byte) error {
	var is struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &is); err != nil {
		return err
	}
	if *b = block(is.Text); is.Type != "text" {
		*b = block(raw)
	}
	return nil
}

// print prints the answer of a tool.
func (o *callCommand) print(res *call.Result) error {
	raw := res.Raw
	if len(raw) == 0 { // from a recording
		raw = res.Value
	}
	var answer struct {
		Content    []block         `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	var err error
	switch {
	case o.json:
		err = o.app.JSON(raw)
	case answer.IsError:
	case len(answer.Structured) > 0 && string(answer.Structured) != "null":
		err = o.app.JSON(answer.Structured)
	default:
		err = printBlocks(o.app.Stdout, answer.Content, o.app.Terminal.Stdout)
	}
	if err != nil || !answer.IsError {
		return err
	}
	return errors.Join(printBlocks(o.app.Stderr, answer.Content, o.app.Terminal.Stderr), cli.Quiet(1))
}

// printBlocks prints each block, and ends its last line.
func printBlocks(w io.Writer, blocks []block, terminal bool) error {
	for _, b := range blocks {
		text := string(b)
		if terminal {
			text = cli.Escape(text)
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		if !strings.HasSuffix(text, "\n") {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
	}
	return nil
}
