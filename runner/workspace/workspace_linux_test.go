package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestLockedWorkspace checks that the host can read a workspace that a script of the same user made inaccessible.
func TestLockedWorkspace(t *testing.T) {
	if os.Geteuid() == 0 { // whom no permissions stop
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestLockedWorkspace$")
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("without root: %v\n%s", err, out)
		}
		return
	}
	for _, mode := range []os.FileMode{0, 0o100, 0o300, 0o400} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "made"), "")
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if got, err := Take(dir); err != nil || len(got) != 1 {
			t.Errorf("Take() of a folder with mode %v = %v, %v, want len(got) 1 and no error", mode, got, err)
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenRefusesANameThatCannotBeTold(t *testing.T) {
	if dir, err := Open(filepath.Join(t.TempDir(), "bad\xff")); err == nil {
		t.Errorf("Open returned %q: got no error, want an error", dir)
	}
}
