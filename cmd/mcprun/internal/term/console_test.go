package term

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
)

// newTestConsole writes to buffers; shared streams end up in the second.
func newTestConsole(shared bool) (c *Console, stdout, stderr *bytes.Buffer) {
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	app := &cli.App{Stdout: stdout, Stderr: stderr}
	if shared {
		app.Stdout, app.Terminal.Shared = stderr, true
	}
	return NewConsole(app), stdout, stderr
}

func put(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if n, err := io.WriteString(w, text); err != nil || n != len(text) {
		t.Fatal(n, err)
	}
}

func TestAnOpenLineIsEnded(t *testing.T) {
	for _, c := range []struct {
		name             string
		shared           bool
		out, err         string
		wantOut, wantErr string
	}{
		{"nothing", false, "", "", "", ""},
		{"an error cut off", false, "", "half", "", "half\n"},
		{"an error that ends", false, "", "whole\n", "", "whole\n"},
		{"output cut off, elsewhere", false, "half", "whole\n", "half", "whole\n"},
		{"output cut off, same place", true, "half", "", "", "half\n"},
		{"output cut off, then an error that ends", true, "half", "whole\n", "", "halfwhole\n"},
	} {
		con, stdout, stderr := newTestConsole(c.shared)
		out, errs := con.Streams()
		for _, w := range []struct {
			to   io.Writer
			text string
		}{{out, c.out}, {errs, c.err}} {
			if w.text != "" {
				put(t, w.to, w.text)
			}
		}
		con.Close()
		con.Close()
		if stdout.String() != c.wantOut || stderr.String() != c.wantErr {
			t.Errorf("%s: stdout %q, stderr %q, want %q and %q", c.name, stdout.String(), stderr.String(), c.wantOut, c.wantErr)
		}
	}
}

// screen returns what a terminal shows after these bytes. It understands only newlines and [cli.ClearLine].
func screen(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if at := strings.LastIndex(line, cli.ClearLine); at >= 0 {
			lines[i] = line[at+len(cli.ClearLine):]
		}
	}
	return strings.Join(lines, "\n")
}

func TestStatusStaysBelowTheOutput(t *testing.T) {
	con, _, stderr := newTestConsole(true)
	out, errs := con.Streams()
	con.setStatus("asking 1s")
	put(t, out, "one\n")
	con.setStatus("asking 2s")
	if got := screen(stderr.String()); got != "one\nasking 2s" {
		t.Errorf("%q, want %q", got, "one\nasking 2s")
	}
	put(t, out, "an open line")
	if got := screen(stderr.String()); got != "one\nan open line" {
		t.Errorf("the status runs into an open line: %q, want %q", got, "one\nan open line")
	}
	con.setStatus("asking 3s")
	con.Say("mcprun: a word")
	put(t, errs, "two\n")
	if got := screen(stderr.String()); got != "one\nan open line\nmcprun: a word\ntwo\nasking 3s" {
		t.Errorf("%q, want %q", got, "one\nan open line\nmcprun: a word\ntwo\nasking 3s")
	}
	con.Close()
	if got := screen(stderr.String()); got != "one\nan open line\nmcprun: a word\ntwo\n" {
		t.Errorf("%q, want %q", got, "one\nan open line\nmcprun: a word\ntwo\n")
	}
}

// TestOutputWaitsForAnAnswer checks that output waits, up to a bound, and that output to another place does not wait.
func TestOutputWaitsForAnAnswer(t *testing.T) {
	con, _, stderr := newTestConsole(true)
	out, errs := con.Streams()
	con.setStatus("busy")
	put(t, out, "before")
	con.ask(func(w io.Writer) {
		put(t, w, "question? ")
		put(t, out, "meanwhile 1\n")
		con.Say("mcprun: meanwhile 2")
		put(t, errs, "meanwhile 3\n")
		con.setStatus("busier")
		if got := screen(stderr.String()); got != "before\nquestion? " {
			t.Errorf("%q, want %q", got, "before\nquestion? ")
		}
		put(t, w, "answer\n")
	})
	want := "before\nquestion? answer\nmeanwhile 1\nmcprun: meanwhile 2\nmeanwhile 3\n"
	if got := screen(stderr.String()); got != want+"busier" {
		t.Errorf("%q, want %q", got, want+"busier")
	}
	var more sync.WaitGroup
	con.ask(func(io.Writer) {
		put(t, out, strings.Repeat("x", maxHeld))
		before := stderr.Len()
		more.Go(func() { put(t, out, "more") })
		time.Sleep(10 * time.Millisecond)
		if stderr.Len() != before {
			t.Error("what a script prints while a person is asked came to the screen, want it to wait")
		}
	})
	more.Wait()
	con.Close()
	if n := strings.Count(stderr.String(), "x"); n != maxHeld || !strings.Contains(stderr.String(), "more") {
		t.Errorf("%d of %d characters", n, maxHeld)
	}

	apart, stdout, _ := newTestConsole(false)
	out, _ = apart.Streams()
	apart.ask(func(io.Writer) {
		if put(t, out, "data"); stdout.String() != "data" {
			t.Errorf(`what goes to a file waits for the person: %q, want stdout.String() "data"`, stdout)
		}
	})
}
