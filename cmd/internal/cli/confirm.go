package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// Interactive reports whether there is a person who can be asked.
func (a *App) Interactive() bool { return a.Terminal.Stdin && a.Terminal.Stderr }

// Confirm asks a question on standard error and reads a line from standard input. Only y and yes mean yes. It stops waiting when ctx ends.
func (a *App) Confirm(ctx context.Context, question string) (bool, error) {
	yes, err := NewInput(a.Stdin).Confirm(ctx, a.Stderr, question)
	if err != nil && ctx.Err() != nil {
		_, _ = fmt.Fprintln(a.Stderr)
		return false, err
	}
	return yes, nil // no answer is no
}

// Confirm writes a question and reads a line. Only y and yes, in any case, mean yes. The error is that of [Input.Line]; a last line
// without an end is an answer all the same.
func (in *Input) Confirm(ctx context.Context, w io.Writer, question string) (bool, error) {
	_, _ = fmt.Fprintf(w, "%s [y/N] ", question)
	line, err := in.Line(ctx)
	line = strings.ToLower(strings.TrimSpace(line))
	return line == "y" || line == "yes", err
}
