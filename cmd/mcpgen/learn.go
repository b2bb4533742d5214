package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/internal/trust"
	"github.com/mcpgen/mcpgen/cmd/mcpgen/internal/permit"
	"github.com/mcpgen/mcpgen/gen"
)

type learnOptions struct {
	app     *cli.App
	place   placeFlags
	state   string
	args    []string
	replies []string
	forget  bool
	writes  bool
	dryRun  bool
	json    bool
	from    string
	yes     bool
}

func newLearnCmd(app *cli.App) *cobra.Command {
	o := &learnOptions{app: app}
	cmd := &cobra.Command{
		Use:   "learn [TOOL...]",
		Short: "Infer a tool's output type from replies, if its server declares none",
		Long: `learn infers the output types of tools whose servers do not declare them. It calls a tool with the arguments you give, or reads
recorded replies. A property is required only if every reply had it. New replies widen a type that was learned before. The
type is stored in .mcpgen/ in the tree and marked as learned in the wrapper; values are not stored.

A tool is called only if its server says that it is read-only, and the policy in mcpgen.yaml decides about each call; where it
asks, you answer at the terminal. Several tools, or one without --args, are called without arguments.

Without a TOOL, learn lists the tools that have no output type. After a yes, or with --yes, it calls once each tool that only reads
and needs no argument but those for which its schema gives a default, an example or a single value. It shows how the wrappers would
change, and writes after another yes, or with --yes.

With --from runs, it calls nothing: it derives types from the shapes that runs have kept (learn: traffic in mcpgen.yaml), for all
tools or for those that you name, and shows and writes them in the same way.

A file of replies holds JSON values, one after the other: results as in MCP ({"content": ...}), JSON-RPC responses, what a
script gets, or a file of mcprun --record. With --replies, no call is made unless there are --args too.

Exit codes: 0 learned, 1 the tree would change and nobody said yes to that, 2 usage, configuration, or nothing to learn, 3 the server could not be asked, 130 interrupted.`,
		Example: `  mcpgen learn                                             # what could be learned; asks before it calls
  mcpgen learn --from runs                                 # what runs have seen, as a diff
  mcpgen learn weather__get_forecast --args '{"city":"Oslo"}' --args '{"city":"Lima"}'
  mcpgen learn crm__list_contacts --replies recorded.jsonl
  mcpgen learn crm__list_contacts --forget`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	o.place.bind(cmd)
	cmd.Flags().StringVar(&o.state, "state", "", "the `database` with the state of runs, as for mcprun (default: run.state in mcpgen.yaml, or a file of this project in your state folder)")
	trust.Bind(cmd.Flags(), &o.place.trusted)
	cmd.ValidArgsFunction = cli.CompleteArgs(0, generatedTools(app, &o.place))
	f := cmd.Flags()
	f.StringArrayVar(&o.args, "args", nil, "call the tool with this `JSON` object; may be given several times")
	f.StringArrayVar(&o.replies, "replies", nil, "learn from the replies in this `file` (- is standard input); may be given several times")
	f.BoolVar(&o.forget, "forget", false, "drop what was learned before, and what runs have kept of the tool")
	f.BoolVar(&o.writes, "allow-writes", false, "also call tools that are not marked read-only")
	f.StringVar(&o.from, "from", "", "learn from what runs have kept: `runs`")
	f.BoolVarP(&o.yes, "yes", "y", false, "without a TOOL, and with --from: do not ask")
	f.BoolVar(&o.dryRun, "dry-run", false, "write nothing; show what would be learned")
	f.BoolVar(&o.json, "json", false, "print one JSON object a tool")
	return cmd
}

// learnJSON is the output of learn --json, one object per tool.
type learnJSON struct {
	Tool    string          `json:"tool"`
	Replies int             `json:"replies"`
	Failed  int             `json:"failed,omitempty"`
	Text    bool            `json:"text,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"`
	Written bool            `json:"written"`
}

func (o *learnOptions) run(cmd *cobra.Command, names []string) error {
	switch {
	case o.from != "" && o.from != fromRuns:
		return cli.Usage(cmd, "--from takes runs")
	case o.from != "" && (len(o.args) > 0 || len(o.replies) > 0 || o.forget || o.writes):
		return cli.Usage(cmd, "--from calls nothing and reads what runs have kept; leave out --args, --replies, --forget and --allow-writes")
	case o.from != "":
		return o.learnFromRuns(cmd.Context(), names)
	case len(names) == 0 && (len(o.args) > 0 || len(o.replies) > 0 || o.forget):
		return cli.Usage(cmd, "name the tool")
	case len(names) == 0 && o.writes:
		return cli.Usage(cmd, "name the tools that --allow-writes may call")
	case len(names) == 0:
		return o.learnAll(cmd.Context())
	case o.yes:
		return cli.Usage(cmd, "--yes is for learn without a TOOL, and for --from")
	case len(names) > 1 && (len(o.args) > 0 || len(o.replies) > 0):
		return cli.Usage(cmd, "--args and --replies are for one tool")
	}
	how := gen.LearnOptions{Forget: o.forget, AllowWrites: o.writes, Check: o.dryRun}
	for _, text := range o.args {
		how.Calls = append(how.Calls, json.RawMessage(text))
	}
	for _, name := range o.replies {
		replies, err := o.readReplies(name)
		if err != nil {
			return err
		}
		how.Replies = append(how.Replies, replies...)
	}
	if len(o.replies) > 0 && len(how.Replies) == 0 { // do not call the tool instead
		return cli.WithHint(errors.New("there is no reply in "+strings.Join(o.replies, ", ")), "give a file of JSON values")
	}
	if len(how.Calls) == 0 && len(how.Replies) == 0 && !o.forget {
		how.Calls = []json.RawMessage{json.RawMessage(`{}`)}
	}
	if len(how.Calls) > 0 {
		var err error
		if how.Permit, err = permit.New(o.app, o.place.options(o.app)); err != nil {
			return err
		}
	}
	var failed []error // a tool that fails does not stop the others
	for _, name := range names {
		failed = append(failed, o.learn(cmd.Context(), name, how))
		if cmd.Context().Err() != nil || trust.IsRefusal(failed[len(failed)-1]) {
			break
		}
	}
	return errors.Join(failed...)
}

func (o *learnOptions) learn(ctx context.Context, name string, how gen.LearnOptions) error {
	how.Tool = name
	defer sweep(ctx)()
	report, err := gen.Learn(ctx, o.place.options(o.app), upstreamOptions(o.app), how)
	if err != nil {
		return err
	}
	if o.forget && !o.dryRun {
		if err := o.forgetRuns(ctx, report.Key); err != nil {
			return err
		}
	}
	out := learnJSON{Tool: report.Tool, Failed: report.Failed, Written: report.Sync.Written}
	if after := report.After; after != nil {
		out.Replies, out.Text, out.Schema = after.Replies, after.JSON, after.Schema
	}
	if o.json {
		return o.app.JSON(out)
	}
	return o.print(report, out)
}

func (o *learnOptions) print(report *gen.LearnReport, out learnJSON) error {
	var b bytes.Buffer
	style := o.app.OutStyle()
	switch {
	case report.After == nil && report.Before == nil:
		fmt.Fprintf(&b, "%s: nothing was learned of it\n", style.Bold(cli.EscapeLine(out.Tool)))
	case report.After == nil:
		fmt.Fprintf(&b, "%s: forgotten\n", style.Bold(cli.EscapeLine(out.Tool)))
	default:
		kind := ""
		if out.Text {
			kind = ", JSON in a text"
		}
		fmt.Fprintf(&b, "%s: learned from %s%s\n", style.Bold(cli.EscapeLine(out.Tool)), replyCount(out.Replies), kind)
		if out.Failed > 0 {
			fmt.Fprintf(&b, "  %s taught nothing: %s\n", replyCount(out.Failed), cli.EscapeLine(report.Why))
		}
		var shape bytes.Buffer
		if json.Indent(&shape, out.Schema, "  ", "  ") == nil {
			fmt.Fprintf(&b, "\n  %s\n\n", cli.Escape(shape.String()))
		}
	}
	switch {
	case o.dryRun:
		fmt.Fprintln(&b, "nothing was written (--dry-run)")
	case out.Written:
		for _, step := range report.Sync.Files {
			fmt.Fprintf(&b, "  %s\n", cli.EscapeLine(filepath.Join(filepath.Base(report.Sync.Out), step.Path)))
		}
	}
	if _, err := o.app.Stdout.Write(b.Bytes()); err != nil || !out.Written {
		return err
	}
	return o.mark(report.Sync, []string{report.Tool})
}

func replyCount(n int) string {
	if n == 1 {
		return "1 reply"
	}
	return fmt.Sprintf("%d replies", n)
}

// list shows the tools that have no declared output, and what is known about their outputs.
func (o *learnOptions) list(tree *gen.Tree) error {
	found, err := tree.Learnable()
	if err != nil {
		return err
	}
	if o.json {
		return o.app.JSON(found)
	}
	var rows [][]string
	for _, l := range found {
		known := "-"
		if l.Replies > 0 {
			known = replyCount(l.Replies)
		}
		call := "give --args"
		switch {
		case !l.ReadOnly:
			call = "give --replies: it doesn't say that it only reads"
		case l.NoArguments:
			call = "needs no arguments"
		case l.Arguments != nil:
			call = "arguments are known: " + cli.EscapeLine(string(l.Arguments))
		}
		rows = append(rows, []string{l.Tool, known, call})
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(o.app.Stdout, "the servers declare what all their tools return")
		return err
	}
	return cli.Table(o.app.Stdout, o.app.OutStyle(), []string{"tool", "learned from", "to learn"}, rows)
}

// readReplies reads JSON values, one after the other, each at most as large as a reply may be.
func (o *learnOptions) readReplies(name string) ([]json.RawMessage, error) {
	const most = 256 << 20
	var in io.Reader = o.app.Stdin
	if name != "-" {
		f, err := os.Open(o.app.Path(name))
		if err != nil {
			return nil, cli.WithHint(fmt.Errorf("read replies: %w", err), "give a file of JSON values")
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	limited := &io.LimitedReader{R: in, N: most + 1}
	text := bufio.NewReader(limited)
	if mark, err := text.Peek(3); err == nil && string(mark) == "\ufeff" {
		_, _ = text.Discard(3)
	}
	dec := json.NewDecoder(text)
	var out []json.RawMessage
	for {
		var reply json.RawMessage
		err := dec.Decode(&reply)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, cli.WithHint(fmt.Errorf("read reply %d of %s: %w", len(out)+1, name, err), "give one JSON value after the other")
		}
		out = append(out, reply)
	}
	if limited.N <= 0 {
		return nil, cli.WithHint(fmt.Errorf("read replies: %s is larger than %d MiB", name, most>>20), "split it, and learn from each part")
	}
	return out, nil
}
