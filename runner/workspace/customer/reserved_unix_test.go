//go:build unix

package customer

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReservedNames checks that files with reserved names are renamed, so that runs can begin and nothing is lost.
func TestReservedNames(t *testing.T) {
	r, _ := openTest(t, 0)
	c := customer(t, r, "acme")
	state := begin(t, c, 0).Files()
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("host"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(state, name) }
	err := errors.Join(os.Symlink(outside, at("servers")), os.WriteFile(at("skills"), []byte("mine"), 0o600), os.Mkdir(at(".mcprun"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	l := begin(t, c, 0)
	if len(l.Moved) != 2 || !strings.Contains(l.Moved[0].String(), "was a symbolic link") || !strings.Contains(l.Moved[1].String(), "was a file") {
		t.Fatalf(`Begin() moved %v, want len(l.Moved) 2, "was a symbolic link" in it and "was a file" in it`, l.Moved)
	}
	for _, name := range []string{"servers", "skills"} {
		if _, err := os.Lstat(at(name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want %v", name, err, fs.ErrNotExist)
		}
	}
	if got := read(t, at(l.Moved[1].To)); got != "mine" || read(t, outside) != "host" {
		t.Errorf("%q", got)
	}
	if l = begin(t, c, 0); len(l.Moved) != 0 {
		t.Errorf("the second Begin() moved %v, want len(l.Moved) 0", l.Moved)
	}
}
