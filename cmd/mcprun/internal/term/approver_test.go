package term

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/approve"
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

// typist returns an approver at whose terminal the lines are typed, one every second, and a buffer with what it shows.
func typist(lines ...string) (*approver, *bytes.Buffer) {
	var out bytes.Buffer
	keys := make(terminal)
	go func() {
		defer close(keys)
		for _, line := range lines {
			time.Sleep(time.Second)
			keys <- line
		}
	}()
	app := &cli.App{Stdin: keys, Stdout: &out, Stderr: &out}
	app.Terminal.Shared = true
	e := &Elicitor{turn: make(chan struct{}, 1), app: app, con: NewConsole(app), in: cli.NewInput(keys)}
	return &approver{e, e.in}, &out
}

func TestApprover(t *testing.T) {
	for typed, want := range map[string]approve.Scope{"\n": "", "o\n": "once", "run\n": "run", "n\n": "", "maybe\nonce\n": "once", "batch\nno\n": "", "s\n": "stop", "": ""} {
		synctest.Test(t, func(t *testing.T) {
			a, out := typist(strings.SplitAfter(typed, "\n")...)
			got, err := a.Approve(t.Context(), &approve.Question{
				Run: "1", Tool: "crm__delete", Server: "crm", Script: "a.ts", Code: "one\ntwo", At: "a.ts:2", Rule: "rule \"r\"", Reason: "it destroys",
				Arguments: json.RawMessage(`{"id":"7","note":"x\u001b[2J` + strings.Repeat(" ", 100) + `Risk: low"}`),
			})
			if err != nil || got.Scope != want || got.By != "terminal" {
				t.Errorf("%q: %+v, %v; want %q", typed, got, err, want)
			}
			for _, text := range []string{"crm__delete needs your approval\n", "  Call: crm__delete on server crm\n", "  Line 2 makes the call:\n       1  one\n  >    2  two\n", "\n    |  ", "  This run: calls of crm__delete with any values of id, note\n", "[N]o, [o]nce, [r]un, [s]top: "} {
				if !strings.Contains(out.String(), text) {
					t.Errorf("%q is not shown:\n%s", text, out)
				}
			}
			if strings.Contains(out.String(), "\n  Risk: low") || strings.Contains(out.String(), "\x1b[2J") {
				t.Errorf("forged, want no %q in it and no %q in it:\n%q", "\n  Risk: low", "\x1b[2J", out)
			}
			synctest.Wait()
			for range a.app.Stdin.(terminal) {
			}
		})
	}
}

// TestLongArguments shows an argument whole, and does not ask about one that is too long.
func TestLongArguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, out := typist("once\n")
		ask := func(filler int) (approve.Answer, error) {
			args := strings.Repeat("x", filler) + "_OR_" + strings.Repeat("x", filler)
			return a.Approve(t.Context(), &approve.Question{Run: "1", Tool: "query", Arguments: json.RawMessage(`{"sql":"` + args + `"}`)})
		}
		if got, err := ask(approve.MaxTerminal / 2); err == nil || got.Scope != approve.Refused || !strings.Contains(out.String(), "too long to show here") {
			t.Errorf("%+v, %v, want an error, Scope %v and \"too long to show here\" in it:\n%s", got, err, approve.Refused, out)
		}
		out.Reset()
		got, err := ask(3000)
		if err != nil || got.Scope != approve.Once || !strings.Contains(strings.ReplaceAll(out.String(), "\n    | ", ""), "x_OR_x") {
			t.Errorf("%+v, %v, want Scope %v, \"x_OR_x\" in it and no error:\n%s", got, err, approve.Once, out)
		}
		synctest.Wait()
		for range a.app.Stdin.(terminal) {
		}
	})
}

// TestSeveralAtOnce checks that approvals and a server's question wait for each other, and that a question that nobody waits for
// any more is not shown.
func TestSeveralAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, out := typist("once\n", "d\n", "no\n")
		var all sync.WaitGroup
		all.Go(func() {
			if got, err := a.Approve(t.Context(), &approve.Question{Run: "1", Tool: "first"}); err != nil || got.Scope != approve.Once {
				t.Errorf("first: %+v, %v, want Scope %v and no error", got, err, approve.Once)
			}
		})
		time.Sleep(time.Millisecond)
		all.Go(func() {
			if reply, err := a.Answer(t.Context(), &upstream.Question{Server: "crm", Message: "Sure?"}); err != nil || reply.Action != upstream.ActionDecline {
				t.Errorf("the server's: %+v, %v, want Action %v and no error", reply, err, upstream.ActionDecline)
			}
		})
		time.Sleep(time.Millisecond)
		gone, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		all.Go(func() {
			if got, err := a.Approve(gone, &approve.Question{Tool: "gone"}); err == nil {
				t.Errorf("gone: %+v: got no error, want an error", got)
			}
		})
		all.Go(func() {
			if got, err := a.Approve(t.Context(), &approve.Question{Tool: "second"}); err != nil || got.Scope != approve.Refused {
				t.Errorf("second: %+v, %v, want Scope %v and no error", got, err, approve.Refused)
			}
		})
		all.Wait()
		text := out.String()
		if f, q, s := strings.Index(text, "first needs"), strings.Index(text, "Sure?"), strings.Index(text, "second needs"); f < 0 || q < f || s < q || strings.Contains(text, "gone") {
			t.Errorf("shown, want at least 0, at least %v, at least %v and no \"gone\" in it:\n%s", f, q, text)
		}
	})
}

func TestWrap(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                     {""},
		"one two":                              {"one two"},
		"console.log(await it)":                {"console.lo", "g(await ", "it)"},
		"its server says that":                 {"its ", "server ", "says that"},
		"a verylongword":                       {"a ", "verylongwo", "rd"},
		"          x":                          {"          ", "x"},
		"\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00": {"\u4e00\u4e00\u4e00\u4e00\u4e00", "\u4e00"},
	} {
		if got := wrap(text, 10); !slices.Equal(got, want) {
			t.Errorf("wrap(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestYesOrNo asks about a script that is about to start, a plan, and a call without a script: only y and yes mean yes.
func TestYesOrNo(t *testing.T) {
	for _, q := range []struct {
		question *approve.Question
		shown    string
	}{
		{&approve.Question{Script: "a.py", Code: "x", Start: &approve.Start{}}, "The script a.py needs your approval to start\n  Action: run the script a.py\n"},
		{&approve.Question{Script: "a.py", Code: "x", Plan: &approve.Plan{}}, "Approve it? [y/N] "},
		{&approve.Question{Tool: "crm__delete", Server: "crm"}, "Make this call? [y/N] "},
	} {
		for typed, want := range map[string]approve.Scope{
			"y\n": "once", " y \n": "once", "yes\n": "once", "Y\n": "once", "\n": "", "once\n": "", "o\n": "", "true\n": "", "1\n": "", "yess\n": "", "": "",
		} {
			synctest.Test(t, func(t *testing.T) {
				a, out := typist(strings.SplitAfter(typed, "\n")...)
				got, err := a.Approve(t.Context(), q.question)
				if err != nil || got.Scope != want || !strings.Contains(out.String(), q.shown) {
					t.Errorf("%q: %+v, %v; want %q; shown:\n%s", typed, got, err, want, out)
				}
				synctest.Wait()
				for range a.app.Stdin.(terminal) {
				}
			})
		}
	}
}

// TestWordsWithTheSameLetter: a letter is the first word that begins with it.
func TestWordsWithTheSameLetter(t *testing.T) {
	for typed, want := range map[string]string{"n\n": "no", "none\n": "none", "no\n": "no", "\n": "no"} {
		synctest.Test(t, func(t *testing.T) {
			a, out := typist(typed)
			d := &dialogue{w: out, in: a.in}
			if got, err := d.pick(t.Context(), "no", "once", "none"); err != nil || got != want || out.String() != "[N]o, [o]nce, none: " {
				t.Errorf("typed %q: %q, %v; want %q; shown %q", typed, got, err, want, out)
			}
			synctest.Wait()
			for range a.app.Stdin.(terminal) {
			}
		})
	}
}
