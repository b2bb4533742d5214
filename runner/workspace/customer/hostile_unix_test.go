//go:build unix

package customer

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestHostileState checks that special files and links in a state are neither followed nor waited for.
func TestHostileState(t *testing.T) {
	r, _ := openTest(t, 0)
	c := customer(t, r, "acme")
	s := session(t, c, "one")
	outside := t.TempDir()
	write(t, filepath.Join(outside, "secret"), "secret")
	at := func(name string) string { return filepath.Join(c.Files(), name) }
	write(t, at("kept"), "x")
	for name, target := range map[string]string{"link": filepath.Join(outside, "secret"), "dir": outside, "up": "../sessions", "in": "kept", "loop": "loop"} {
		if err := os.Symlink(target, at(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(c.Files()) // a socket's path must be short
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	info, err := s.Checkpoint(t.Context(), "a")
	if err != nil || info.Files != 1 || info.Skipped != 7 || info.Example != "dir: a symbolic link" {
		t.Fatalf(`%+v %v, want Files 1, Skipped 7, Example "dir: a symbolic link" and no error`, info, err)
	}
	if _, err := s.Restore(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(c.Files()); err != nil || len(entries) != 1 {
		t.Errorf("%v %v, want len(entries) 1 and no error", entries, err)
	}
	if read(t, filepath.Join(outside, "secret")) != "secret" {
		t.Error("a file outside the state was changed")
	}
}

// TestStateThatIsALink checks that a link in place of the state does not lead the host elsewhere.
func TestStateThatIsALink(t *testing.T) {
	r, _ := openTest(t, 0)
	c := customer(t, r, "acme")
	s := session(t, c, "one")
	outside := t.TempDir()
	write(t, filepath.Join(outside, "secret"), "secret")
	if err := os.Remove(c.Files()); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, c.Files()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Checkpoint(t.Context(), "a"); err == nil {
		t.Error("Checkpoint() followed a link: got no error, want an error")
	}
	if _, err := c.Begin(t.Context(), 0); err == nil {
		t.Error("Begin() followed a link: got no error, want an error")
	}
}

// TestCheckpointOfHoles checks that a copy of a file with holes cannot fill the disk.
func TestCheckpointOfHoles(t *testing.T) {
	r, _ := openTest(t, 8<<20)
	c := customer(t, r, "acme")
	s := session(t, c, "one")
	write(t, filepath.Join(c.Files(), "a"), "")
	if err := os.Truncate(filepath.Join(c.Files(), "a"), 1<<40); err != nil {
		t.Fatal(err)
	}
	var full *QuotaError
	if _, err := s.Checkpoint(t.Context(), "a"); !errors.As(err, &full) {
		t.Errorf("%v", err)
	}
}
