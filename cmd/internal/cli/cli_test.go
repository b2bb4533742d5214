package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/gen/ident"
)

type hinted struct {
	text, hint string
	code       int
}

func (e hinted) Error() string { return e.text }
func (e hinted) Hint() string  { return e.hint }
func (e hinted) ExitCode() int { return e.code }

func TestFail(t *testing.T) {
	tests := []struct {
		name string
		err  error
		code int
		want string
	}{
		{"plain", errors.New("no"), 7, "prog: no\n"},
		{"hint and code, wrapped", fmt.Errorf("do it: %w", hinted{"no", "try", 3}), 3, "prog: do it: no\nhint: try\n"},
		{"joined", errors.Join(hinted{"one", "try", 3}, hinted{"two", "try", 4}, hinted{"three", "other", 5}), 3,
			"prog: one\n  two\n  three\nhint: try\nhint: other\n"},
		{"usage", &UsageError{Err: errors.New("bad flag"), Command: "prog sub"}, 7, "prog: bad flag\nhint: run \"prog sub --help\"\n"},
		{"quiet", fmt.Errorf("x: %w", Quiet(9)), 9, ""},
		{"signal", &SignalError{Signal: syscall.SIGINT}, 130, "prog: ended by interrupt\n"},
		{"another program's end", fmt.Errorf("run it: %w", &exec.ExitError{ProcessState: &os.ProcessState{}}), 7, "prog: run it: exit status 0\n"},
		{"a file's name", fmt.Errorf("read it: %w", &fs.PathError{Op: "open", Path: "a\nprog: fine\x1b.ts", Err: fs.ErrNotExist}), 7,
			`prog: read it: open a\nprog: fine\x1b.ts: file does not exist` + "\n"},
		{"no permission", fmt.Errorf("write it: %w", &fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}), 7,
			"prog: write it: open x: permission denied\nhint: you have no permission for that: run the command as the owner of the file or folder, or change its owner or mode (chown, chmod)\n"},
		{"no permission, with a hint of ours", fmt.Errorf("%w, %w", hinted{"no", "try", 3}, &fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}), 3,
			"prog: no, open x: permission denied\nhint: try\n"},
		{"no permission for something else", fmt.Errorf("connect: %w", syscall.EACCES), 7, "prog: connect: permission denied\n"},
		{"terminal escapes", errors.New("a\x1b[2J\u202eb\x9b"), 7, `prog: a\x1b[2J\u202eb\x9b` + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			a := &App{Name: "prog", Stderr: &out, FailCode: 7}
			if code := a.Fail(tt.err); code != tt.code {
				t.Errorf("code %d, want %d", code, tt.code)
			}
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunReportsTheSignal(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cmd := &cobra.Command{RunE: func(*cobra.Command, []string) error {
		cancel(&SignalError{Signal: syscall.SIGTERM})
		return hinted{"connection lost", "check the network", 3}
	}}
	var out bytes.Buffer
	a := &App{Name: "prog", Stdout: &out, Stderr: &out}
	if code := a.Run(ctx, cmd, nil); code != 143 || !strings.Contains(out.String(), "terminated") {
		t.Errorf(`code %d, %q, want 143 and "terminated" in it`, code, out.String())
	}
	if code := a.Run(context.Background(), &cobra.Command{Use: "x", RunE: cmd.RunE}, []string{"--nope"}); code != 2 {
		t.Errorf("an unknown flag: code %d, want 2", code)
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain ü 日本 😀\ttab\n": "plain ü 日本 😀\ttab\n",
		"\x1b]0;title\x07":    `\x1b]0;title\x07`,
		"a\rb":                `a\rb`,
		"\u202eevil\u2066":    `\u202eevil\u2066`,
		"\xff\u009b":          `\xff\u009b`,
		"\U000e0041":          `\U000e0041`, // a tag character, which no terminal shows
		"\uFFFD":              "\uFFFD",
		"⚠\ufe0f\U000E0100":   "⚠\ufe0f" + `\U000e0100`,
		"\u115f\u2800\ufe00":  `\u115f\u2800\ufe00`,
	} {
		if got := Escape(in); got != want {
			t.Errorf("Escape(%q) = %q, want %q", in, got, want)
		}
	}
	if got := EscapeLine("a\nb\tc"); got != `a\nb\tc` {
		t.Errorf("EscapeLine: %q, want %q", got, `a\nb\tc`)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[31m\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		if got := EscapeLine(s); hides(got) {
			t.Errorf("EscapeLine(%q) = %q", s, got)
		}
	})
}

// hides reports whether a text has characters that a terminal must not get.
func hides(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !ident.Shows(r) })
}

func TestJSONIsTheSameValueAndSafe(t *testing.T) {
	in := map[string]string{"k<&>": "\u2028 \u009b \U000e0041 ü \x1b"}
	var out bytes.Buffer
	if err := (&App{Stdout: &out}).JSON(in); err != nil {
		t.Fatal(err)
	}
	if hides(strings.ReplaceAll(out.String(), "\n", "")) || !strings.Contains(out.String(), "k<&>") || !strings.Contains(out.String(), "ü") {
		t.Errorf("%q", out.String())
	}
	var again map[string]string
	if err := json.Unmarshal(out.Bytes(), &again); err != nil || !cmp.Equal(in, again) {
		t.Errorf("%v %v", again, err)
	}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	err := Table(&out, Style{}, []string{"NAME", "WHAT"}, [][]string{{"a", "x"}, {"lönger", "y\x1b\nz"}, {"b"}})
	want := "NAME    WHAT\na       x\nlönger  y\\x1b\\nz\nb\n"
	if diff := cmp.Diff(want, out.String()); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestColour(t *testing.T) {
	for _, tt := range []struct {
		env      map[string]string
		terminal bool
		want     bool
	}{
		{nil, true, true},
		{nil, false, false},
		{map[string]string{"NO_COLOR": "1"}, true, false},
		{map[string]string{"NO_COLOR": ""}, true, true},
		{map[string]string{"TERM": "dumb"}, true, false},
		{map[string]string{"FORCE_COLOR": "1"}, false, true},
		{map[string]string{"CLICOLOR_FORCE": "0"}, false, false},
		{map[string]string{"NO_COLOR": "1", "FORCE_COLOR": "1"}, true, false},
	} {
		a := &App{LookupEnv: func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok }}
		a.Terminal.Stdout = tt.terminal
		if got := a.OutStyle().Red("x") != "x"; got != tt.want {
			t.Errorf("%v, terminal %v: colour %v, want %v", tt.env, tt.terminal, got, tt.want)
		}
	}
}

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	a := &App{Stderr: &out}
	p := a.Progress("asking")
	p.Start("a")
	p.Done("a", "done")
	p.Close()
	if out.Len() > 0 {
		t.Errorf("off a terminal: %q, want out.Len() at most 0", out.String())
	}
	a.Terminal.Stderr = true
	p = a.Progress("asking")
	p.Start("a")
	p.Start("b\x1b[2J")
	p.Done("a", "a is done")
	p.Close()
	if s := out.String(); !strings.Contains(s, "asking a") || !strings.Contains(s, "a is done\n") || strings.Contains(s, "\x1b[2J") || !strings.HasSuffix(s, "\x1b[K") {
		t.Errorf(`%q, want "asking a" in it, %q in it, no %q in it and %q at its end`, s, "a is done\n", "\x1b[2J", "\x1b[K")
	}
	a.LookupEnv = func(name string) (string, bool) { return "true", name == "CI" }
	out.Reset()
	a.Progress("asking").Start("a")
	if out.Len() > 0 {
		t.Errorf("in CI: %q, want out.Len() at most 0", out.String())
	}
}

func TestPrefixed(t *testing.T) {
	var out bytes.Buffer
	w := Prefixed(&out)
	_, _ = w("a\x1b").Write([]byte("one\ntwo\x1b\n"))
	if want := "a\\x1b: one\na\\x1b: two\\x1b\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestProgressOffATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		a := &App{Stderr: &out}
		p := a.Progress("asking")
		p.Start("quick")
		p.Start("slow")
		p.Done("quick", "note")
		time.Sleep(41 * time.Second)
		p.Close()
		time.Sleep(time.Minute)
		if want := "still asking slow (10s)\nstill asking slow (40s)\n"; out.String() != want {
			t.Errorf("printed %q, want %q", out.String(), want)
		}
	})
}
