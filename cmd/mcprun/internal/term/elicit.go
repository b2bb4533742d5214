package term

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/chain"
)

// Values of --elicit, besides the name of a file.
const (
	ElicitPrompt  = "prompt"
	ElicitDecline = "decline"
)

// Elicitor answers questions of servers, one at a time.
type Elicitor struct {
	app   *cli.App
	con   *Console
	Quiet bool                                           // does not report declined questions
	in    *cli.Input                                     // where a person answers; nil: nobody is asked
	file  *answers                                       // nil if there is none
	why   string                                         // why nobody is asked
	tty   *os.File                                       // opened for in; nil: in is standard input
	open  func(ctx context.Context, address string) bool // a browser

	// Personal masks declined questions when they are reported, since a model may read that. Nil: they are reported as they are.
	Personal *chain.Personal

	turn chan struct{} // holds an element while a person is asked something
}

// NewElicitor returns an elicitor for the mode of --elicit. If mode is empty, it prompts at standard input if that is a terminal,
// else at the terminal named tty unless that is empty. The caller closes the elicitor.
func NewElicitor(app *cli.App, con *Console, tty, mode string) (*Elicitor, error) {
	e := &Elicitor{app: app, con: con, open: app.OpenBrowser, turn: make(chan struct{}, 1)}
	switch mode {
	case ElicitDecline:
		e.why = "--elicit says decline"
		return e, nil
	case "", ElicitPrompt:
		err := e.findTerminal(tty)
		switch {
		case err == nil && (mode == ElicitPrompt || app.Env("CI") == ""):
			return e, nil
		case mode == ElicitPrompt:
			return nil, flags.Usage("--elicit prompt: nobody can be asked: %w; give a file of answers instead", err)
		}
		if e.why = "there is no terminal to ask in; give answers with --elicit FILE"; err == nil {
			e.why = "this is CI; give answers with --elicit FILE, or use --elicit prompt"
		}
		e.in = nil
		return e, nil
	}
	a, err := readAnswers(app.Path(mode))
	if err != nil {
		return nil, &cli.UsageError{Err: fmt.Errorf("--elicit: %w", err), Command: "mcprun"}
	}
	e.file, e.why = a, "the file of --elicit has no answer for it"
	return e, nil
}

// Asks reports whether somebody answers questions: a person at the terminal, or the file of --elicit.
func (e *Elicitor) Asks() bool { return e.in != nil || e.file != nil }

// findTerminal finds the terminal where a person reads and answers.
func (e *Elicitor) findTerminal(tty string) error {
	switch {
	case !e.app.Terminal.Stderr:
		return errors.New("standard error is not a terminal")
	case e.app.Terminal.Stdin:
		e.in = cli.NewInput(e.app.Stdin)
		return nil
	case tty == "":
		return errors.New("standard input is not a terminal")
	}
	f, err := os.Open(tty)
	if err != nil {
		return fmt.Errorf("open the terminal: %w", err)
	}
	e.in, e.tty = cli.NewInput(f), f
	return nil
}

// Close closes the terminal, unless it is standard input.
func (e *Elicitor) Close() error {
	if e.tty == nil {
		return nil
	}
	return e.tty.Close()
}

// Answer implements upstream.ElicitFunc.
func (e *Elicitor) Answer(ctx context.Context, q *upstream.Question) (*upstream.Reply, error) {
	reply, err := e.Ask(ctx, q)
	if reply != nil || err != nil {
		return reply, err
	}
	if !e.Quiet {
		message := strings.TrimRight(e.Personal.MaskForeign(q.Message), " \t\r\n:.…") // masked whole, since half of an address would not be recognized
		e.con.Say(fmt.Sprintf("mcprun: %s asks: %s: declined, because %s", asker(q), cli.EscapeLine(cli.Shorten(message, 300)), e.why))
	}
	return &upstream.Reply{Action: upstream.ActionDecline}, nil
}

// Ask is Answer, but returns nil if there is nobody who could answer.
func (e *Elicitor) Ask(ctx context.Context, q *upstream.Question) (*upstream.Reply, error) {
	leave, err := e.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if e.file != nil {
		if reply := e.file.find(q); reply != nil {
			return reply, nil
		}
	}
	if e.in == nil {
		return nil, nil
	}
	var reply *upstream.Reply
	e.con.ask(func(w io.Writer) {
		e.in.Discard()
		d := &dialogue{w: w, in: e.in, style: e.app.ErrStyle(), open: e.open}
		if q.URL != "" {
			reply, err = d.visit(ctx, q)
		} else {
			reply, err = d.form(ctx, q)
		}
		if err != nil { // the run or the terminal ended
			_, _ = fmt.Fprintln(w)
		}
	})
	if errors.Is(err, io.EOF) {
		return &upstream.Reply{Action: upstream.ActionCancel}, nil
	}
	return reply, err
}

// begin waits until nobody else is asking the person. The caller calls leave after its question.
func (e *Elicitor) begin(ctx context.Context) (leave func(), err error) {
	select {
	case e.turn <- struct{}{}:
		leave = func() { <-e.turn }
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// TerminalName returns the file of the terminal that the process belongs to.
func TerminalName() string {
	if runtime.GOOS == "windows" {
		return "CONIN$"
	}
	return "/dev/tty"
}
