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
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/source"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/term"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/call"
)

// NewCallCommand returns the command call.
func NewCallCommand(app *cli.App, at resources.Provider) *cobra.Command {
	o := &callCommand{Caller: Caller{App: app, Host: at, Name: "mcprun call"}}
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
	f.BoolVar(&o.JSON, "json", false, "print the whole result, with content and isError")
	o.BindCalls(f)
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
	p, err := o.OpenToRead(o.App, o.Host, stderr)
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
	p, tree, err := o.openTree(o.App.Stderr)
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
	return o.App.Table([]string{"TOOL", "DESCRIPTION"}, rows)
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
	con := term.NewConsole(o.App)
	defer con.Close()
	p, tools, err := o.open(cmd.Context(), con.Other(), server, tool)
	if err != nil {
		return err
	}
	defer p.Close()
	if tool, err = tools.resolve(tool); err != nil {
		return err
	}
	calls, err := o.Begin(cmd, con, p, tools.Catalog)
	if err != nil {
		return err
	}
	defer calls.Close()
	var input json.RawMessage
	if _, t, ok := tools.Lookup(tool); ok {
		input = t.Input
	}
	args, values, err := o.arguments(cmd.Context(), input, pairs)
	if err != nil {
		return err
	}
	res, err := calls.Call(cmd.Context(), tool, args, values)
	if err != nil || res.As == call.AsDry {
		return err
	}
	return o.Print(res)
}

// arguments returns the JSON object from standard input, if it is to be read, and the values that override it. For a tool without
// required arguments standard input is not read, because it may be a pipe that is never closed.
func (o *callCommand) arguments(ctx context.Context, input json.RawMessage, pairs []string) (args json.RawMessage, values []string, err error) {
	var s struct {
		Required []string `json:"required"`
	}
	_ = json.Unmarshal(input, &s) // a schema that cannot be read requires nothing
	fromStdin := len(pairs) == 0 && !o.App.Terminal.Stdin && len(s.Required) > 0
	if n := len(pairs); n > 0 && pairs[n-1] == "-" {
		pairs, fromStdin = pairs[:n-1], true
	}
	if !fromStdin {
		return nil, pairs, nil
	}
	if args, err = source.ReadStdin(ctx, o.App.Stdin); err != nil {
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

// answer is a CallToolResult.
type answer struct {
	Content    []block         `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
}

func readAnswer(res *call.Result) (a answer, raw json.RawMessage, err error) {
	if raw = res.Raw; len(raw) == 0 { // from a recording
		raw = res.Value
	}
	if err = json.Unmarshal(raw, &a); err != nil {
		err = fmt.Errorf("read the answer: %w", err)
	}
	return a, raw, err
}

func (a *answer) structured() bool { return len(a.Structured) > 0 && string(a.Structured) != "null" }

// Value returns what a tool has returned: its structured content, or else its content. A tool's failure is a [*call.Error].
func Value(tool string, res *call.Result) (json.RawMessage, error) {
	a, _, err := readAnswer(res)
	switch {
	case err != nil:
		return nil, err
	case a.IsError:
		var text []string
		for _, b := range a.Content {
			text = append(text, string(b))
		}
		return nil, &call.Error{Kind: call.KindTool, Tool: tool, Message: strings.Join(text, "\n")}
	case a.structured():
		return a.Structured, nil
	}
	return json.Marshal(a.Content)
}

// Print prints the answer of a tool.
func (o *Caller) Print(res *call.Result) error {
	answer, raw, err := readAnswer(res)
	if err != nil {
		return err
	}
	switch {
	case o.JSON:
		err = o.App.JSON(raw)
	case answer.IsError:
	case answer.structured():
		err = o.App.JSON(answer.Structured)
	default:
		err = printBlocks(o.App.Stdout, answer.Content, o.App.Terminal.Stdout)
	}
	if err != nil || !answer.IsError {
		return err
	}
	return errors.Join(printBlocks(o.App.Stderr, answer.Content, o.App.Terminal.Stderr), cli.Quiet(1))
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
