package term

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/risk"
)

// defaultColumns is assumed for a terminal that does not report its width.
const defaultColumns = 80

// approver asks at the terminal whether a call may be made, between the questions of servers.
type approver struct {
	*Elicitor
	in *cli.Input
}

// Approver returns an Approver that asks at the terminal that NewElicitor would use. The error says why there is no terminal.
func (e *Elicitor) Approver(tty string) (approve.Approver, error) {
	in := e.in
	if in == nil {
		if err := e.findTerminal(tty); err != nil {
			return nil, err
		}
		in, e.in = e.in, nil // no questions of servers are asked there
	}
	return &approver{e, in}, nil
}

// Approve implements approve.Approver.
func (a *approver) Approve(ctx context.Context, q *approve.Question) (approve.Answer, error) {
	leave, err := a.begin(ctx)
	if err != nil {
		return approve.Answer{}, err
	}
	defer leave()
	answer := approve.Answer{By: "terminal"}
	a.con.ask(func(w io.Writer) {
		a.in.Discard()
		d := &dialogue{w: w, in: a.in, style: a.app.ErrStyle()}
		if answer.Scope, err = d.approve(ctx, q, a.app.ErrColumns()); err != nil {
			_, _ = fmt.Fprintln(w)
		}
	})
	if errors.Is(err, io.EOF) { // Ctrl-D
		return answer, nil
	}
	return answer, err
}

// approve asks whether a call may be made. An empty line is a no.
func (d *dialogue) approve(ctx context.Context, q *approve.Question, columns int) (approve.Scope, error) {
	d.say("%s\n", d.style.Bold(q.Title()))
	if columns < 2*len(continued) {
		columns = defaultColumns
	}
	view, err := q.View(approve.MaxTerminal)
	if err != nil {
		d.say("  %v\n", err)
		return approve.Refused, fmt.Errorf("ask at the terminal: %w", err)
	}
	for _, line := range append(view.Lines, view.Others...) {
		for i, part := range wrap(line, columns-len(continued)) {
			if i == 0 {
				d.say("  %s\n", d.coloured(part, q.Risk))
			} else {
				d.say("%s%s\n", d.style.Dim(continued), part)
			}
		}
	}
	if len(view.Scopes) == 1 {
		question := "Make this call?"
		switch {
		case q.Start != nil:
			question = "Run it?"
		case q.Plan != nil:
			question = "Approve it?"
		}
		yes, err := d.in.Confirm(ctx, d.w, question)
		if err != nil || !yes {
			return approve.Refused, err
		}
		return view.Scopes[0], nil
	}
	words := []string{"no"}
	for _, s := range view.Scopes {
		words = append(words, string(s))
	}
	if slices.Contains(view.Scopes, approve.Run) {
		hint := "run: what the line \"This run\" names; stop: refuse all that this rule asks about in this run"
		if slices.Contains(view.Scopes, approve.Once) {
			hint = "once: this call; " + hint
		}
		if slices.Contains(view.Scopes, approve.Batch) {
			hint += "; batch: this call and those that wait too; none: refuse them together"
		}
		d.say("%s\n", d.style.Dim(hint))
	}
	word, err := d.pick(ctx, words...)
	if err != nil || word == words[0] {
		return approve.Refused, err
	}
	return approve.Scope(word), nil
}

// coloured returns a line of a question, in colour if the risk is high.
func (d *dialogue) coloured(line string, r risk.Risk) string {
	switch {
	case line != "Risk: "+r.String():
		return line
	case r >= risk.High:
		return d.style.Red(line)
	case r == risk.Medium:
		return d.style.Yellow(line)
	}
	return d.style.Green(line)
}

// continued begins the lines of a long text after its first, so that none of them looks like a line of its own.
const continued = "    | "

// wrap breaks a text before a terminal of that width would, after a space if there is one. Non-ASCII characters may be two columns
// wide.
func wrap(text string, columns int) []string {
	var parts []string
	start, width := 0, 0
	word, wordWidth := 0, 0 // the last word of the line
	for i, r := range text {
		w := 1
		if r > 0x7e {
			w = 2
		}
		width, wordWidth = width+w, wordWidth+w
		if width > columns {
			if word == start { // longer than a line
				word, wordWidth = i, w
			}
			parts = append(parts, text[start:word])
			start, width = word, wordWidth
		}
		if r == ' ' {
			word, wordWidth = i+1, 0
		}
	}
	return append(parts, text[start:])
}
