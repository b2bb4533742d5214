package backends

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A caretaker has next to no environment of its own, and yet looks at the same engine and into the same folder.
func TestCaretakerLooksWhereItsHostDoes(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMP", os.TempDir())
	for name, set := range map[string]map[string]string{
		"nothing set":      {},
		"engine set":       {"DOCKER_HOST": "tcp://192.0.2.1:2376", "DOCKER_CERT_PATH": "/certs"},
		"folder set":       {"XDG_RUNTIME_DIR": filepath.Join(os.TempDir(), "run")},
		"another one's":    {"HOME": "/nonexistent", "TMPDIR": "/nonexistent", "TMP": "/nonexistent"},
		"more than needed": {"MCPRUN_NODE": "node", "SECRET": "x"},
	} {
		o := Options{LookupEnv: func(name string) (string, bool) { v, ok := set[name]; return v, ok }}
		has := map[string]string{}
		for _, pair := range newCaretaker("", &o).env {
			variable, value, _ := strings.Cut(pair, "=")
			has[variable] = value
		}
		if _, ok := has["SECRET"]; ok {
			t.Errorf("%s: it gets what it has no use for", name)
		}
		there := Options{LookupEnv: func(name string) (string, bool) { v, ok := has[name]; return v, ok }}
		mine, its := o.places(), there.places()
		if mine != its {
			t.Errorf("%s: it looks at %+v, and not at %+v", name, its, mine)
		}
		t.Setenv("TMPDIR", has["TMPDIR"])
		if got := RuntimeDir(there.LookupEnv); got != mine.dir {
			t.Errorf("%s: its folder is %q, and not %q", name, got, mine.dir)
		}
	}
}

// Several users have one caretaker, which is gone when the last one lets go.
func TestCaretakerEndsWithItsLastUser(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := newCaretaker(exe, &Options{LookupEnv: func(string) (string, bool) { return "", false }})
	first, second := c.attend(), c.attend()
	cmd := c.cmd
	if cmd == nil {
		t.Fatal("there is no caretaker")
	}
	first()
	first() // counts once
	if c.cmd != cmd {
		t.Fatal("it was sent away while it was needed")
	}
	second()
	if state := cmd.ProcessState; c.cmd != nil || state == nil || !state.Success() {
		t.Errorf("it ended with %v", state)
	}
	c.attend()()
	if c.cmd != nil || c.users != 0 {
		t.Errorf("%d users are left", c.users)
	}
}
