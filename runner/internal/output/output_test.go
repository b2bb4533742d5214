package output

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/workspace"
)

func TestOutput(t *testing.T) {
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
			o := New(c.max, store, "id", &stdout, &stderr)
			for _, s := range c.steps {
				w := o.Stdout
				if s.err {
					w = o.Stderr
				}
				if n, err := w.Write([]byte(s.text)); n != len(s.text) || err != nil {
					t.Errorf("Write() = %d, %v, want %d", n, err, len(s.text))
				}
			}
			o.Finish()
			if stdout.String() != c.stdout || stderr.String() != c.stderr {
				t.Errorf("got %q and %q\nwant %q and %q", stdout.String(), stderr.String(), c.stdout, c.stderr)
			}
			for name, want := range c.files {
				if got, err := os.ReadFile(filepath.Join(dir, ".mcprun", "output", name)); err != nil || string(got) != want {
					t.Errorf("%s has %.100q, %v, want %.100q", name, got, err, want)
				}
			}
			if len(store.Made()) != len(c.files) {
				t.Errorf("files = %q, want %d", store.Made(), len(c.files))
			}
		})
	}
}

func TestOutputNotKept(t *testing.T) {
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
		o := New(1, c.store, "id", &stdout, &stdout)
		if c.away {
			o.KeepNothing()
		}
		o.Stdout.Write([]byte("abc"))
		o.Finish()
		if !strings.HasSuffix(stdout.String(), c.want) {
			t.Errorf("%s: got %q, want the end %q", name, stdout.String(), c.want)
		}
	}
}

func TestShorten(t *testing.T) {
	got := Shorten("begin " + strings.Repeat("é", 1<<20) + " end")
	if len(got) > maxError+100 || !utf8.ValidString(got) || !strings.HasPrefix(got, "begin ") || !strings.HasSuffix(got, " end") || !strings.Contains(got, "(2,093,162 more bytes)") {
		t.Errorf("Shorten() = %.60q of %d bytes, want at most %d with both ends", got, len(got), maxError+100)
	}
	if got := Shorten("short"); got != "short" {
		t.Errorf("Shorten() = %q, want short", got)
	}
}
