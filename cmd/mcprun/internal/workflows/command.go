// Package workflows has the command workflow: scripts whose steps are kept. The commands run and resume are in package run, whose flags
// they have.
package workflows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/run"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/term"
	"github.com/mcpgen/mcpgen/gen/upstream/elicit"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/durable"
	"github.com/mcpgen/mcpgen/runner/journal"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/workflow"
)

// NewCommand returns `mcprun workflow`.
func NewCommand(app *cli.App, at resources.Provider) *cobra.Command {
	cmd := &cobra.Command{
		Use: "workflow", Short: "Run scripts and documents whose steps are kept, and continue them",
		Long: `A workflow is a script that survives the death of its process. What its calls returned is kept, and so
are its steps: await workflow.step("name", …). While it sleeps, or waits for a value or a person, nothing
runs. People write workflows as YAML or JSON, in the words of Serverless Workflow 1.0.`,
		Example: "  mcprun workflow run copy.ts --input contacts=@contacts.json\n  mcprun workflow list",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(run.NewWorkflowRunCommand(app, at), run.NewWorkflowResumeCommand(app, at), newListCommand(app), newShowCommand(app), newSendCommand(app), newAnswerCommand(app), newCancelCommand(app),
		newCheckCommand(app, at), newCompileCommand(app, at), newGraphCommand(app))
	return cmd
}

// located finds the workflows of a project.
type located struct {
	app     *cli.App
	project project.LocationFlags
	state.PlaceFlag
	json bool
}

// bind adds the flags to a command. shows says that it has --json.
func (o *located) bind(cmd *cobra.Command, shows bool) *cobra.Command {
	cli.BindConfig(cmd.Flags(), &o.project.Configs)
	o.PlaceFlag.Bind(cmd.Flags())
	if shows {
		cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	}
	return cmd
}

// with calls do with the workflows of the project.
func (o *located) with(cmd *cobra.Command, do func(ctx context.Context, e *run.Workflows) error) error {
	ctx := cmd.Context()
	e, err := run.OpenWorkflows(ctx, o.app, &o.project, &o.PlaceFlag, cmd.Flags())
	if errors.Is(err, fs.ErrNotExist) {
		return cli.WithHint(errors.New("this project has no workflows yet"), "start one with mcprun workflow run")
	}
	if err != nil {
		return err
	}
	switch err = do(ctx, e); {
	case errors.Is(err, store.ErrNotFound):
		err = cli.WithHint(err, "see mcprun workflow list")
	case errors.Is(err, durable.ErrEnded):
		err = cli.WithHint(err, "see mcprun workflow show")
	}
	return errors.Join(err, e.Close(ctx))
}

// listed is a workflow as the command list shows it.
type listed struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Customer string         `json:"customer,omitempty"`
	State    durable.State  `json:"state"`
	Runs     bool           `json:"runs"` // a process runs it, or waits with it
	Created  time.Time      `json:"created"`
	Ended    time.Time      `json:"ended,omitzero"`
	Waits    []waiting      `json:"waits,omitempty"`
	Stop     *workflow.Stop `json:"stop,omitempty"` // why it has stopped
	Steps    []step         `json:"steps,omitempty"`
	// Calls counts the calls that changed something.
	Calls map[string]int `json:"calls,omitempty"`
	// Unknown are calls that may have been made; of a workflow that runs, they may be in progress.
	Unknown []journal.Unknown `json:"unknown,omitempty"`
	Outcome *workflow.Outcome `json:"outcome,omitempty"`

	goesOn string // what to do so that it goes on; empty: nothing
}

// waiting is what a workflow waits for.
type waiting struct {
	Kind  journal.StepKind `json:"kind"`
	For   string           `json:"for,omitempty"` // a topic or a question
	Until time.Time        `json:"until,omitzero"`
}

func (w *waiting) String() string {
	words := map[journal.StepKind]string{journal.StepSleep: "time", journal.StepWait: "value " + w.For, journal.StepAsk: "answer: " + w.For}[w.Kind]
	if !w.Until.IsZero() {
		words += " until " + when(w.Until)
	}
	return words
}

// step is a step of a workflow.
type step struct {
	Kind        journal.StepKind `json:"kind"`
	Name        string           `json:"name"`
	Number      int              `json:"number"`
	Began       time.Time        `json:"began"`
	Ended       time.Time        `json:"ended,omitzero"` // zero: it has not
	InputBytes  int              `json:"inputBytes"`
	OutputBytes int              `json:"outputBytes"`
	Error       string           `json:"error,omitempty"`
}

// failureOf returns the error with which a step ended, or "".
func failureOf(k *journal.Kept) string {
	failed := struct{ Error *call.Error }{k.Outcome.Error}
	if k.Kind == journal.StepRun {
		_ = json.Unmarshal(k.Outcome.Value, &failed) // it is one of ours
	}
	if failed.Error == nil {
		return ""
	}
	return failed.Error.Message
}

// of returns a workflow for output. private replaces personal data; nil: it stays.
func of(s *workflow.Status, private *pii.Tokenizer) listed {
	mask := func(text string) string { return text }
	if private != nil {
		mask = private.Mask
	}
	l := listed{ID: s.ID, Name: s.Name, Customer: s.Customer, State: s.State, Created: s.Created, Ended: s.Ended, Calls: s.Calls, Outcome: s.Outcome, Unknown: s.Unknown, Stop: s.Stop, Runs: s.Runs && s.Stop == nil}
	if l.goesOn = "mcprun workflow resume " + s.ID; s.Group != workflow.Group(s.ID) {
		l.goesOn = "mcprun serve, started as before"
	}
	if l.Runs || l.State.Ended() {
		l.goesOn = ""
	}
	if s.Stop != nil {
		l.Stop = &workflow.Stop{Part: s.Stop.Part, ExitCode: s.Stop.ExitCode, Reason: mask(s.Stop.Reason)}
	}
	if s.Outcome != nil && private != nil {
		hidden := *s.Outcome
		hidden.Message, hidden.Result = mask(hidden.Message), private.MaskJSON(hidden.Result)
		l.Outcome = &hidden
	}
	for _, w := range s.Waits() {
		at := waiting{Kind: w.Kind, Until: w.Until}
		if w.Kind != journal.StepSleep {
			at.For = mask(w.Name)
		}
		l.Waits = append(l.Waits, at)
	}
	for _, k := range s.Steps {
		out := step{Kind: k.Kind, Name: mask(k.Name), Number: k.Number, Began: k.Began, Ended: k.Ended, InputBytes: len(k.Input)}
		if k.Outcome != nil {
			out.OutputBytes, out.Error = max(len(k.Outcome.Value), k.Outcome.Large), mask(failureOf(&k))
		}
		l.Steps = append(l.Steps, out)
	}
	return l
}

// when shows a time in the local time zone.
func when(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// fromStdin replaces the last argument, if it is -, by the JSON on standard input. asText takes a string there for a text.
func fromStdin(app *cli.App, last int, asText bool) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != last+1 || args[last] != "-" {
			return nil
		}
		value, err := run.ReadJSON(cmd.Context(), app)
		if err != nil {
			return err
		}
		if args[last] = string(value); asText && value[0] == '"' {
			err = json.Unmarshal(value, &args[last])
		}
		return err
	}
}

func newListCommand(app *cli.App) *cobra.Command {
	o := &located{app: app}
	return o.bind(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List workflows, and what they wait for",
		Example: "  mcprun workflow list\n  mcprun workflow list --json",
		Args:    cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.with(cmd, func(ctx context.Context, e *run.Workflows) error {
				found, err := e.List(ctx, durable.Filter{})
				if err != nil {
					return err
				}
				all := []listed{}
				for i := range found {
					s := &found[i]
					if !s.State.Ended() {
						if s, err = e.Get(ctx, s.ID); err != nil {
							return err
						}
						s.Steps, s.Calls, s.Unknown = waitsOf(s), nil, nil
					}
					private, err := o.private(e, s)
					if err != nil {
						return err
					}
					all = append(all, of(s, private))
				}
				return o.list(all)
			})
		},
	}, true)
}

// private returns what replaces personal data of a workflow in the output of the command, or nil.
func (o *located) private(e *run.Workflows, s *workflow.Status) (*pii.Tokenizer, error) {
	if !o.json {
		return nil, nil
	}
	return e.Private(s)
}

// waitsOf returns the steps that a workflow waits for.
func waitsOf(s *workflow.Status) (all []journal.Kept) {
	for _, w := range s.Waits() {
		all = append(all, journal.Kept{Step: w})
	}
	return all
}

func (o *located) list(all []listed) error {
	if o.json {
		for i := range all {
			all[i].Steps = nil
		}
		return o.app.JSON(map[string]any{"workflows": all})
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(o.app.Stdout, "no workflows")
		return err
	}
	var rows [][]string
	for _, l := range all {
		var waits []string
		for i := range l.Waits {
			waits = append(waits, l.Waits[i].String())
		}
		if l.Stop != nil {
			waits = []string{cli.Shorten(l.Stop.Reason, 100)}
		}
		if l.goesOn != "" {
			waits = append(waits, "goes on with: "+l.goesOn)
		}
		rows = append(rows, []string{l.ID, cli.EscapeLine(l.Name), cli.EscapeLine(l.Customer), string(l.State), when(l.Created), cli.EscapeLine(strings.Join(waits, "; "))})
	}
	return o.app.Table([]string{"WORKFLOW", "SCRIPT", "CUSTOMER", "STATE", "STARTED", "WAITS FOR"}, rows)
}

func newShowCommand(app *cli.App) *cobra.Command {
	o, asPage := &located{app: app}, false
	cmd := o.bind(&cobra.Command{
		Use: "show ID", Short: "Show the steps of a workflow, what it waits for, and how it ended",
		Example: "  mcprun workflow show onboarding-42\n  mcprun workflow show onboarding-42 --html > onboarding.html",
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd, func(ctx context.Context, e *run.Workflows) error {
				s, err := e.Get(ctx, args[0])
				if err != nil {
					return err
				}
				if asPage {
					return s.Page(o.app.Stdout, time.Now())
				}
				private, err := o.private(e, s)
				if err != nil {
					return err
				}
				return o.show(of(s, private))
			})
		},
	}, true)
	cmd.Flags().BoolVar(&asPage, "html", false, "print a page with the steps on a time line")
	return cmd
}

func (o *located) show(l listed) error {
	if o.json {
		return o.app.JSON(l)
	}
	w := o.app.Stdout
	fmt.Fprintf(w, "workflow %s: %s, %s, started %s\n", l.ID, cli.EscapeLine(l.Name), l.State, when(l.Created))
	var rows [][]string
	for _, s := range l.Steps {
		took, name := "", string(s.Kind)+" "+s.Name
		if s.Kind == journal.StepSleep {
			name = "sleep"
		}
		if s.Number > 0 {
			name += fmt.Sprintf(" #%d", s.Number+1)
		}
		if !s.Ended.IsZero() {
			took = s.Ended.Sub(s.Began).Round(time.Millisecond).String()
		}
		rows = append(rows, []string{cli.EscapeLine(name), when(s.Began), took, flags.Bytes(s.InputBytes), flags.Bytes(s.OutputBytes), cli.EscapeLine(cli.Shorten(s.Error, 100))})
	}
	if len(rows) > 0 {
		if err := o.app.Table([]string{"STEP", "BEGAN", "TOOK", "INPUT", "OUTPUT", "ERROR"}, rows); err != nil {
			return err
		}
	}
	for tool, n := range l.Calls {
		fmt.Fprintf(w, "calls %s: %d\n", cli.EscapeLine(tool), n)
	}
	for _, u := range l.Unknown {
		if l.State != durable.Running {
			fmt.Fprintf(w, "unknown whether it was made: %s\n", cli.EscapeLine(u.String()))
		}
	}
	if l.Stop != nil {
		fmt.Fprintf(w, "stopped: %s\n", cli.EscapeLine(l.Stop.Reason))
	} else if l.goesOn != "" {
		fmt.Fprintln(w, "no process runs it")
	}
	if l.goesOn != "" {
		fmt.Fprintf(w, "goes on with: %s\n", l.goesOn)
	}
	for i := range l.Waits {
		fmt.Fprintf(w, "waits for %s\n", cli.EscapeLine(l.Waits[i].String()))
	}
	if out := l.Outcome; out != nil {
		if out.Message != "" {
			fmt.Fprintf(w, "%s\n", cli.Escape(out.Message))
		}
		if len(out.Result) > 0 {
			fmt.Fprintf(w, "result %s\n", cli.EscapeLine(string(out.Result)))
		}
	}
	return nil
}

func newSendCommand(app *cli.App) *cobra.Command {
	o := &located{app: app}
	return o.bind(&cobra.Command{
		Use: "send ID TOPIC [JSON | -]", Short: "Send a value to a workflow: workflow.waitFor(topic) returns it",
		Example: "  mcprun workflow send onboarding-42 paid '{\"amount\": 12}'",
		Args:    cli.Args(cobra.RangeArgs(2, 3)),
		PreRunE: fromStdin(app, 2, false),
		RunE: func(cmd *cobra.Command, args []string) error {
			value := json.RawMessage("null")
			if len(args) == 3 {
				value = run.AsJSON(args[2])
			}
			if strings.HasPrefix(args[1], "?") || strings.HasPrefix(args[1], "!") {
				return cli.Usage(cmd, "a topic does not begin with ? or !; answer questions with mcprun workflow answer")
			}
			return o.with(cmd, func(ctx context.Context, e *run.Workflows) error {
				runs, err := e.Send(ctx, args[0], args[1], value)
				return o.accepted(ctx, e, args[0], runs, err)
			})
		},
	}, false)
}

// accepted says what to do so that a workflow gets what was sent to it.
func (o *located) accepted(ctx context.Context, e *run.Workflows, id string, runs bool, err error) error {
	if err != nil || runs {
		return err
	}
	s, err := e.Get(ctx, id)
	if err == nil {
		if l := of(s, nil); l.goesOn != "" {
			fmt.Fprintf(o.app.Stderr, "mcprun: accepted; no process runs the workflow, which goes on with: %s\n", l.goesOn)
		}
	}
	return err
}

func newAnswerCommand(app *cli.App) *cobra.Command {
	o := &located{app: app}
	number, decline := 0, false
	cmd := o.bind(&cobra.Command{
		Use: "answer ID [ANSWER | NAME=VALUE... | -]", Short: "Answer a question of a workflow",
		Long: `Answers the question of a workflow: with a text, with a JSON object, or with the fields of its form. Without
an answer, it is asked here; - reads JSON from standard input.`,
		Example: "  mcprun workflow answer onboarding-42\n  mcprun workflow answer onboarding-42 yes\n  mcprun workflow answer onboarding-42 plan=pro seats=5",
		Args:    cli.Args(cobra.MinimumNArgs(1)),
		PreRunE: fromStdin(app, 1, true),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd, func(ctx context.Context, e *run.Workflows) error { return o.answer(cmd, e, args, number, decline) })
		},
	}, false)
	cmd.Flags().Var(flags.Count(&number, 1), "question", "which of several questions, from 1, as mcprun workflow show lists them")
	cmd.Flags().BoolVar(&decline, "decline", false, "decline to answer")
	return cmd
}

func (o *located) answer(cmd *cobra.Command, e *run.Workflows, args []string, number int, decline bool) error {
	ctx := cmd.Context()
	s, err := e.Get(ctx, args[0])
	if err != nil {
		return err
	}
	var open []journal.Step
	for _, w := range s.Waits() {
		if w.Kind == journal.StepAsk {
			open = append(open, w)
		}
	}
	switch {
	case len(open) == 0:
		return cli.WithHint(fmt.Errorf("the workflow %s asks nothing", s.ID), "see mcprun workflow show "+s.ID)
	case number == 0 && len(open) > 1, number > len(open):
		return cli.Usage(cmd, "the workflow %s asks %d questions: name one with --question", s.ID, len(open))
	}
	question := &open[max(number, 1)-1]
	q, err := chain.Question(question)
	if err != nil {
		return err
	}
	reply := &elicit.Reply{Action: elicit.ActionDecline}
	switch {
	case decline:
	case len(args) > 1:
		reply = &elicit.Reply{Action: elicit.ActionAccept}
		if reply.Content, err = contentOf(cmd, q, args[1:]); err != nil {
			return err
		}
	default:
		con := term.NewConsole(o.app)
		asked, err := term.NewElicitor(o.app, con, term.TerminalName(), term.ElicitPrompt)
		if err != nil {
			return err
		}
		defer asked.Close()
		if reply, err = asked.Answer(ctx, q); err != nil {
			return err
		}
	}
	runs, err := e.Answer(ctx, s.ID, question, reply)
	return o.accepted(ctx, e, s.ID, runs, err)
}

// contentOf returns the form that is filled in on the command line.
func contentOf(cmd *cobra.Command, q *elicit.Question, args []string) (json.RawMessage, error) {
	form := map[string]json.RawMessage{}
	if len(args) == 1 && json.Unmarshal([]byte(args[0]), &form) == nil {
		return json.RawMessage(args[0]), nil
	}
	if name, _, _ := strings.Cut(args[0], "="); len(args) == 1 && len(q.Fields) == 1 && name != q.Fields[0].Name {
		args = []string{q.Fields[0].Name + "=" + args[0]}
	}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, cli.Usage(cmd, "%q is not an answer: write NAME=VALUE, or one JSON object", arg)
		}
		form[name] = run.AsJSON(value)
		for _, f := range q.Fields {
			if f.Name == name && (f.Kind == elicit.FieldText || f.Kind == elicit.FieldChoice) {
				form[name] = term.AsText(value)
			}
		}
	}
	return json.Marshal(form)
}

func newCancelCommand(app *cli.App) *cobra.Command {
	o := &located{app: app}
	return o.bind(&cobra.Command{
		Use: "cancel ID", Short: "Cancel a workflow",
		Example: "  mcprun workflow cancel onboarding-42",
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd, func(ctx context.Context, e *run.Workflows) error {
				if err := e.Cancel(ctx, args[0]); err != nil {
					return err
				}
				s, err := e.Get(ctx, args[0])
				if err != nil {
					return err
				}
				for _, u := range s.Unknown {
					fmt.Fprintf(app.Stderr, "mcprun: unknown whether it was made: %s\n", cli.EscapeLine(u.String()))
				}
				return nil
			})
		},
	}, false)
}
