package cli

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// terminal is a terminal where these lines are typed. An empty line is Ctrl-D.
type terminal chan string

func (t terminal) Read(p []byte) (int, error) {
	line, ok := <-t
	if !ok {
		return 0, errors.New("the terminal is gone")
	}
	if line == "" {
		return 0, io.EOF
	}
	return copy(p, line), nil
}

func TestInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := make(terminal)
		in := NewInput(keys)
		go func() { keys <- "yes\r\nand no\n" }()
		for _, want := range []string{"yes", "and no"} {
			if got, err := in.Line(t.Context()); got != want || err != nil {
				t.Errorf("Line() = %q, %v, want %q", got, err, want)
			}
		}
		go func() { keys <- "" }()
		if _, err := in.Line(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("Line() after Ctrl-D = %v, want io.EOF", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := in.Line(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Line() without an answer = %v, want %v", err, context.DeadlineExceeded)
		}
		keys <- "too late\nand more\n"
		synctest.Wait()
		in.Discard()
		go func() { keys <- "in time\n" }()
		if got, err := in.Line(t.Context()); got != "in time" || err != nil {
			t.Errorf("Line() = %q, %v, want %q", got, err, "in time")
		}
		close(keys)
		if _, err := in.Line(t.Context()); err == nil {
			t.Error("Line() of a terminal that is gone = nil error, want one")
		}
	})
}
