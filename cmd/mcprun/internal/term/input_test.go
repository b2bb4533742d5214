package term

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
		in := newInput(keys)
		go func() { keys <- "yes\r\nand no\n" }()
		for _, want := range []string{"yes", "and no"} {
			if got, err := in.line(t.Context()); got != want || err != nil {
				t.Errorf("line() = %q, %v, want %q", got, err, want)
			}
		}
		go func() { keys <- "" }()
		if _, err := in.line(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("line() after Ctrl-D = %v, want io.EOF", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := in.line(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("line() without an answer = %v, want %v", err, context.DeadlineExceeded)
		}
		keys <- "too late\nand more\n"
		synctest.Wait()
		in.discard()
		go func() { keys <- "in time\n" }()
		if got, err := in.line(t.Context()); got != "in time" || err != nil {
			t.Errorf("line() = %q, %v, want %q", got, err, "in time")
		}
		close(keys)
		if _, err := in.line(t.Context()); err == nil {
			t.Error("line() of a terminal that is gone = nil error, want one")
		}
	})
}
