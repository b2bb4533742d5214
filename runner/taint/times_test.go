//go:build linux || darwin

package taint

import (
	"errors"
	"os"
	"testing"
)

// TestScriptSetsTime hides a file behind an old time, as a script can, and a folder behind its permissions.
func TestScriptSetsTime(t *testing.T) {
	s, folder := Open(t.TempDir()), t.TempDir()
	r, _ := begin(t, s, folder, "web")
	write(t, folder, "b.txt")
	age(t, folder, "b.txt")
	end(t, r)
	if got := with(t, s, folder); got != "web" {
		t.Errorf("the next run begins with %q, want web", got)
	}
	if os.Getuid() == 0 {
		return // for whom everything is readable
	}
	if err := errors.Join(os.Remove(folder+"/b.txt"), os.Mkdir(folder+"/locked", 0o700), os.Chmod(folder+"/locked", 0)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0); err != nil {
		t.Fatal(err)
	}
	if got := with(t, s, folder); got != "web" {
		t.Errorf("with a folder that cannot be read, the next run begins with %q, want web", got)
	}
}
