package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"
)

// Interactive reports whether there is a person who can be asked.
func (a *App) Interactive() bool { return a.Terminal.Stdin && a.Terminal.Stderr }

// Confirm asks a question on standard error and reads a line from standard input. Only y and yes mean yes. It stops waiting when ctx ends.
func (a *App) Confirm(ctx context.Context, question string) (bool, error) {
	_, _ = fmt.Fprintf(a.Stderr, "%s [y/N] ", question)
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(a.Stdin).ReadString('\n') // no answer is no
		answer <- line
	}()
	select {
	case line := <-answer:
		return IsYes(line), nil
	case <-ctx.Done():
		_, _ = fmt.Fprintln(a.Stderr)
		return false, context.Cause(ctx)
	}
}

// YesOrNo ends a question whose answer [IsYes] reads.
const YesOrNo = "[y/N]"

// IsYes reports whether a line that a person typed is a yes: y or yes, in any case. Everything else is a no.
func IsYes(line string) bool {
	line = strings.ToLower(strings.TrimSpace(line))
	return line == "y" || line == "yes"
}
