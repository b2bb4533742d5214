//go:build unix

package reaper

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Init()
	if dir := os.Getenv(hostVariable); dir != "" {
		host(dir)
	}
	os.Exit(m.Run())
}

// hostVariable makes the test binary guard files in a folder, and wait to be killed.
const hostVariable = "REAPER_TEST_HOST"

func host(dir string) {
	exe, _ := os.Executable()
	for _, name := range []string{"kept", "removed"} {
		path := filepath.Join(dir, name)
		release, err := Guard(exe, path)
		if err != nil || os.MkdirAll(filepath.Join(path, "below"), 0o700) != nil {
			os.Exit(1)
		}
		if name == "kept" {
			release()
		}
	}
	fmt.Println("ready")
	time.Sleep(time.Minute)
	os.Exit(0)
}

// A command that is guarded twice stays guarded until both guards were released.
func TestGuardCommandTwice(t *testing.T) {
	var told strings.Builder
	r := &reaper{pipe: &told}
	var releases []func()
	for range 2 {
		release, err := r.guard("", []string{"command"})
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, release)
	}
	releases[0]()
	releases[0]()
	if got, want := told.String(), "+command\x00"; got != want {
		t.Errorf("after one release the reaper was told %q, want %q", got, want)
	}
	releases[1]()
	if got, want := told.String(), "+command\x00-command\x00"; got != want {
		t.Errorf("after both releases the reaper was told %q, want %q", got, want)
	}
}

func TestGuard(t *testing.T) {
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), hostVariable+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !bufio.NewScanner(out).Scan() {
		t.Error("the host does not come up")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "removed")); err != nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("a guarded folder is there 30 s after its host was killed")
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "kept")); err != nil {
		t.Errorf("a folder that was released is gone: %v", err)
	}
}
