package term

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// terminal is one that says what it is told, a line at a time; an empty line is Ctrl-D.
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

func TestInputIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := make(terminal)
		in := NewInput(keys)
		script := make(chan string)
		go func() {
			defer close(script)
			buf := make([]byte, 100)
			for {
				n, err := in.Read(buf)
				if n > 0 {
					script <- string(buf[:n])
				}
				if err != nil {
					return
				}
			}
		}()
		keys <- "for the script\n"
		if got := <-script; got != "for the script\n" {
			t.Errorf("the script got %q", got)
		}
		synctest.Wait() // somebody waits for the script's next line when the question comes
		end := in.ask()
		go func() { keys <- "yes\r\nand no\n" }()
		for _, want := range []string{"yes", "and no"} {
			if got, err := in.line(t.Context()); got != want || err != nil {
				t.Errorf("line %q, %v; want %q", got, err, want)
			}
		}
		go func() { keys <- "" }()
		if _, err := in.line(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("after Ctrl-D: %v", err)
		}
		end()
		keys <- "again the script's\n"
		if got := <-script; got != "again the script's\n" {
			t.Errorf("the script got %q", got)
		}
		keys <- ""
		if got, open := <-script; open {
			t.Errorf("after its end the script got %q", got)
		}
		end = in.ask() // a terminal goes on after Ctrl-D
		go func() { keys <- "still here\n" }()
		if got, err := in.line(t.Context()); got != "still here" || err != nil {
			t.Errorf("line %q, %v", got, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := in.line(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("nobody answered: %v", err)
		}
		close(keys)
		synctest.Wait()
		if _, err := in.line(t.Context()); err == nil {
			t.Error("a terminal that is gone gave a line")
		}
		end()
	})
}

// TestNoQuestionReadsAhead: what was typed before a question was asked is the script's.
func TestNoQuestionReadsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := make(terminal)
		in := NewInput(keys)
		buf := make([]byte, 3)
		go func() { keys <- "early\n" }()
		if n, err := in.Read(buf); n != 3 || err != nil {
			t.Fatal(n, err)
		}
		defer in.ask()()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got, err := in.line(ctx); err == nil {
			t.Errorf("the question was answered with %q", got)
		}
		close(keys)
	})
}
