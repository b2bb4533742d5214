package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/upstream"
)

// What --elicit may say besides the name of a file.
const (
	elicitPrompt  = "prompt"
	elicitDecline = "decline"
)

// elicitor answers what servers ask a person, one question at a time.
type elicitor struct {
	app   *cli.App
	con   *console
	quiet bool                                           // says nothing of what is declined
	in    *input                                         // where a person answers; nil: there is nobody
	file  *answers                                       // nil: there is none
	why   string                                         // nobody is asked
	open  func(ctx context.Context, address string) bool // a browser

	turn sync.Mutex
}

// newElicitor follows --elicit; empty means to prompt where there is a terminal. in is a terminal that is standard input,
// or nil; then the one called tty is opened, if it has a name. The caller closes what it returns beside the elicitor.
func newElicitor(app *cli.App, con *console, in *input, tty, mode string) (*elicitor, io.Closer, error) {
	e := &elicitor{app: app, con: con, open: app.OpenBrowser}
	switch mode {
	case elicitDecline:
		e.why = "--elicit says decline"
		return e, files(nil), nil
	case "", elicitPrompt:
		in, opened, err := person(app, in, tty)
		switch {
		case err == nil && (mode == elicitPrompt || app.Env("CI") == ""):
			e.in = in
			return e, opened, nil
		case mode == elicitPrompt:
			return nil, nil, usage("--elicit prompt: nobody can be asked: %w; give a file of answers instead", err)
		}
		if e.why = "there is no terminal to ask in; give answers with --elicit FILE"; err == nil {
			e.why = "this is CI; give answers with --elicit FILE, or say --elicit prompt"
		}
		return e, opened, nil
	}
	a, err := readAnswers(app.Path(mode))
	if err != nil {
		return nil, nil, &cli.UsageError{Err: fmt.Errorf("--elicit: %w", err), Command: "mcprun"}
	}
	e.file, e.why = a, "the file of --elicit has no answer for it"
	return e, files(nil), nil
}

// person finds the terminal where somebody reads and writes.
func person(app *cli.App, in *input, tty string) (*input, files, error) {
	switch {
	case !app.Terminal.Stderr:
		return nil, nil, errors.New("standard error is no terminal")
	case in != nil:
		return in, nil, nil
	case tty == "":
		return nil, nil, errors.New("standard input is no terminal")
	}
	f, err := os.Open(tty)
	if err != nil {
		return nil, nil, fmt.Errorf("open the terminal: %w", err)
	}
	return newInput(f), files{f}, nil
}

// answer is the upstream.ElicitFunc.
func (e *elicitor) answer(ctx context.Context, q *upstream.Question) (*upstream.Reply, error) {
	e.turn.Lock()
	defer e.turn.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if e.file != nil {
		if reply := e.file.find(q); reply != nil {
			return reply, nil
		}
	}
	switch {
	case e.in != nil:
	case e.quiet:
		return &upstream.Reply{Action: upstream.ActionDecline}, nil
	default:
		e.con.say(fmt.Sprintf("mcprun: server %s asks: %s: declined, because %s",
			cli.CleanLine(q.Server), cli.CleanLine(cli.Shorten(strings.TrimRight(q.Message, " \t\r\n:.…"), 300)), e.why))
		return &upstream.Reply{Action: upstream.ActionDecline}, nil
	}
	var reply *upstream.Reply
	var err error
	e.con.ask(func(w io.Writer) {
		end := e.in.ask()
		defer end()
		d := &dialogue{w: w, in: e.in, style: e.app.ErrStyle(), open: e.open}
		if q.URL != "" {
			reply, err = d.visit(ctx, q)
		} else {
			reply, err = d.form(ctx, q)
		}
		if err != nil { // the run ended, or the person's terminal did
			_, _ = fmt.Fprintln(w)
		}
	})
	if errors.Is(err, io.EOF) {
		return &upstream.Reply{Action: upstream.ActionCancel}, nil
	}
	return reply, err
}
