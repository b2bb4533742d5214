package runner

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

func TestOutputs(t *testing.T) {
	type step struct {
		err  bool // standard error
		text string
	}
	for _, c := range []struct {
		name           string
		max            int
		steps          []step
		stdout, stderr string
		files          map[string]string
	}{
		{"no bound", 0, []step{{false, "abc"}, {true, "x"}}, "abc", "x", nil},
		{"as much as there may be", 4, []step{{false, "abc"}, {true, "x"}}, "abc", "x", nil},
		{"one too many", 4, []step{{false, "ab"}, {false, "cde"}}, "abcd\n[mcprun: 1 more characters of standard output; all of it is in .mcprun/output/id.stdout.txt in the workspace]\n", "",
			map[string]string{"id.stdout.txt": "abcde"}},
		{"whole characters", 2, []step{{false, "é\xc3"}, {false, "\xa9é"}, {false, "\xc3"}, {false, "\xa9"}},
			"éé\n[mcprun: 2 more characters of standard output; all of it is in .mcprun/output/id.stdout.txt in the workspace]\n", "",
			map[string]string{"id.stdout.txt": "éééé"}},
		{"what is no text", 4, []step{{false, "a\x80\x80"}, {false, "\x80\x80\x80"}},
			"a\x80\x80\x80\n[mcprun: 2 more characters of standard output; all of it is in .mcprun/output/id.stdout.txt in the workspace]\n", "",
			map[string]string{"id.stdout.txt": "a\x80\x80\x80\x80\x80"}},
		{"a character that does not end", 1, []step{{false, "\xf0\x80\x80"}, {false, "\x80\x80"}},
			"\xf0\x80\x80\x80\n[mcprun: 1 more characters of standard output; all of it is in .mcprun/output/id.stdout.txt in the workspace]\n", "",
			map[string]string{"id.stdout.txt": "\xf0\x80\x80\x80\x80"}},
		{"both together", 3, []step{{false, "ab"}, {true, "xyz"}, {false, "c"}},
			"ab\n[mcprun: 1 more characters of standard output; all of it is in .mcprun/output/id.stdout.txt in the workspace]\n",
			"xyz",
			map[string]string{"id.stdout.txt": "abc", "id.stderr.txt": "xyz"}},
		{"the end of errors", 1, []step{{true, strings.Repeat("é", 5000) + "!"}}, "",
			"é\n[mcprun: 3,000 more characters of standard error; all of it is in .mcprun/output/id.stderr.txt in the workspace]\n" + strings.Repeat("é", 1999) + "!",
			map[string]string{"id.stderr.txt": strings.Repeat("é", 5000) + "!"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			store := workspace.NewStore(dir, 1<<20)
			defer store.Close()
			var stdout, stderr bytes.Buffer
			o := newOutputs(c.max, store, "id", &stdout, &stderr)
			for _, s := range c.steps {
				w := o.stdout
				if s.err {
					w = o.stderr
				}
				if n, err := w.Write([]byte(s.text)); n != len(s.text) || err != nil {
					t.Errorf("%d %v", n, err)
				}
			}
			o.finish()
			if stdout.String() != c.stdout || stderr.String() != c.stderr {
				t.Errorf("got  %q\nand  %q\nwant %q\nand  %q", stdout.String(), stderr.String(), c.stdout, c.stderr)
			}
			for name, want := range c.files {
				if got, err := os.ReadFile(filepath.Join(dir, ".mcprun", "output", name)); err != nil || string(got) != want {
					t.Errorf("%s: %.100q %v", name, got, err)
				}
			}
			if len(store.Made()) != len(c.files) {
				t.Errorf("made %q", store.Made())
			}
		})
	}
}

func TestOutputsWithoutAPlace(t *testing.T) {
	for name, c := range map[string]struct {
		store *workspace.Store
		away  bool
		want  string
	}{
		"no workspace": {nil, false, "a\n[mcprun: 2 more characters of standard output; they were not kept (the run has no workspace)]\n"},
		"no room":      {workspace.NewStore(t.TempDir(), 2), false, "they were not kept (the workspace has no room for it)]\n"},
		"away":         {workspace.NewStore(t.TempDir(), 1<<20), true, "they were not kept (the sandbox works on a copy of the workspace)]\n"},
	} {
		var stdout bytes.Buffer
		o := newOutputs(1, c.store, "id", &stdout, &stdout)
		if c.away {
			o.forget()
		}
		o.stdout.Write([]byte("abc"))
		o.finish()
		if !strings.HasSuffix(stdout.String(), c.want) {
			t.Errorf("%s: %q", name, stdout.String())
		}
	}
}

// TestShownError: an error is part of what a model reads, and a tool, or a hostile guest, may say very much in one.
func TestShownError(t *testing.T) {
	long := "begin " + strings.Repeat("é", 1<<20) + " end"
	e := &bridge.ScriptError{Name: long, Message: long, Stack: long}
	if got := (&Script{}).shown(e); got != e {
		t.Error("cut where output has no bound")
	}
	got := (&Script{MaxOutput: 30_000}).shown(e)
	for _, text := range []string{got.Name, got.Message, got.Stack} {
		if len(text) > maxShownError+100 || !utf8.ValidString(text) || !strings.HasPrefix(text, "begin ") || !strings.HasSuffix(text, " end") || !strings.Contains(text, "(2,093,162 more bytes)") {
			t.Errorf("%d bytes: %.60q", len(text), text)
		}
	}
	if got := (&Script{MaxOutput: 1}).shown(&bridge.ScriptError{Message: "short"}); got.Message != "short" {
		t.Errorf("got %q", got.Message)
	}
	if (&Script{MaxOutput: 1}).shown(nil) != nil {
		t.Error("an error where there was none")
	}
}
