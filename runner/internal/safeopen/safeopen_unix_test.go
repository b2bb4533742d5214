//go:build unix

package safeopen_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

// planted are the things that a script may put in place of a file or folder. Each function creates one at a path; dir contains an ordinary
// file and an ordinary folder.
func planted() map[string]func(dir, at string) error {
	return map[string]func(dir, at string) error{
		"pipe": func(_, at string) error { return syscall.Mkfifo(at, 0o666) },
		"socket": func(_, at string) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: at})
			if err != nil {
				return err
			}
			l.SetUnlinkOnClose(false)
			return l.Close()
		},
		"link to a device": func(_, at string) error { return os.Symlink("/dev/zero", at) },
		"link to a pipe": func(dir, at string) error {
			return errors.Join(syscall.Mkfifo(filepath.Join(dir, "p"), 0o666), os.Symlink("p", at))
		},
		"link to itself":    func(_, at string) error { return os.Symlink(filepath.Base(at), at) },
		"link outside":      func(_, at string) error { return os.Symlink("/etc", at) },
		"link to a process": func(_, at string) error { return os.Symlink("/proc/self/mem", at) },
		"broken link":       func(_, at string) error { return os.Symlink("gone", at) },
	}
}

// TestNothingWaitsForWhatWasPlanted opens everything in every way. A function that waits makes the test time out.
func TestNothingWaitsForWhatWasPlanted(t *testing.T) {
	opens := map[string]func(root *os.Root, dir, name string) error{
		"Root": func(_ *os.Root, dir, name string) error {
			_, err := safeopen.Root(filepath.Join(dir, name))
			return err
		},
		"Dir": func(root *os.Root, _, name string) error { _, err := safeopen.Dir(root, name); return err },
		"File": func(root *os.Root, _, name string) error {
			_, err := safeopen.File(root, name, os.O_RDONLY, 0)
			return err
		},
		"File for writing": func(root *os.Root, _, name string) error {
			_, err := safeopen.File(root, name, os.O_WRONLY, 0)
			return err
		},
		"File for both": func(root *os.Root, _, name string) error {
			_, err := safeopen.File(root, name, os.O_RDWR|os.O_APPEND, 0)
			return err
		},
		"ReadDir":     func(root *os.Root, _, name string) error { _, err := safeopen.ReadDir(root, name, 0); return err },
		"FS.Open":     func(root *os.Root, _, name string) error { _, err := safeopen.FS(root).Open(name); return err },
		"FS.ReadDir":  func(root *os.Root, _, name string) error { _, err := fs.ReadDir(safeopen.FS(root), name); return err },
		"FS.ReadFile": func(root *os.Root, _, name string) error { _, err := fs.ReadFile(safeopen.FS(root), name); return err },
	}
	for kind, plant := range planted() {
		for way, open := range opens {
			if kind == "link outside" && way == "Root" {
				continue // a path is followed
			}
			t.Run(kind+"/"+way, func(t *testing.T) {
				dir := short(t)
				if err := plant(dir, filepath.Join(dir, "x")); err != nil {
					t.Fatal(err)
				}
				root := openRoot(t, dir)
				if err := soon(t, func() error { return open(root, dir, "x") }); err == nil {
					t.Errorf("%s of a %s = nil, want an error", way, kind)
				}
			})
		}
	}
}

// soon returns f's error, or fails the test if f blocks.
func soon(t *testing.T, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(30 * time.Second):
		t.Fatal("it waits")
		return nil
	}
}

// short returns a folder whose path is short enough for a socket.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "so")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func openRoot(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := safeopen.Root(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

func TestKindError(t *testing.T) {
	dir := short(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "results"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := safeopen.Dir(openRoot(t, dir), "results")
	if kind, ok := errors.AsType[*safeopen.KindError](err); !ok || err.Error() != "results is a named pipe, not a folder" || kind.Hint() != "remove it" {
		t.Errorf("Dir() of a pipe = %v", err)
	}
}

// TestOrdinaryFiles checks that ordinary files and folders can be used.
func TestOrdinaryFiles(t *testing.T) {
	dir := short(t)
	root := openRoot(t, dir)
	for _, err := range []error{root.Mkdir("d", 0o755), root.WriteFile("d/a", []byte("text"), 0o644), root.Symlink("d/a", "link"), root.Symlink("d", "dir link")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, open := range map[string]func() error{
		"a folder": func() error { _, err := safeopen.Dir(root, "d"); return err },
		"the root": func() error { _, err := safeopen.Dir(root, "."); return err },
		"a file":   func() error { _, err := safeopen.File(root, "d/a", os.O_RDWR|os.O_APPEND, 0); return err },
		"a new file": func() error {
			_, err := safeopen.File(root, "d/b", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			return err
		},
		"a link that stays in its root": func() error { _, err := safeopen.File(root, "link", os.O_RDONLY, 0); return err },
		"a file by its path":            func() error { _, err := safeopen.FileAt(filepath.Join(dir, "d/a")); return err },
	} {
		if err := open(); err != nil {
			t.Errorf("open %s: %v", name, err)
		}
	}
	if _, err := safeopen.Dir(root, "dir link"); err == nil || !strings.Contains(err.Error(), "is a symbolic link") {
		t.Errorf("Dir() of a link = %v, want that it is one", err)
	}
	if text, err := fs.ReadFile(safeopen.FS(root), "link"); err != nil || string(text) != "text" {
		t.Errorf(`ReadFile() = %q, %v, want "text" and no error`, text, err)
	}
	var seen []string
	err := fs.WalkDir(safeopen.FS(root), ".", func(p string, _ fs.DirEntry, err error) error { seen = append(seen, p); return err })
	if got, want := strings.Join(seen, " "), ". d d/a d/b dir link link"; err != nil || got != want {
		t.Errorf("WalkDir() visits %q, %v, want %q", got, err, want)
	}
	if entries, err := safeopen.ReadDir(root, "d", 1); len(entries) != 1 || err != nil {
		t.Errorf("ReadDir() of at most 1 = %v, %v, want len(entries) 1 and no error", entries, err)
	}
	if entries, err := safeopen.ReadDir(root, ".", 100); len(entries) != 3 || err != nil {
		t.Errorf("ReadDir() of at most 100 = %v, %v, want len(entries) 3 and no error", entries, err)
	}
	if _, err := safeopen.File(root, "gone", os.O_RDONLY, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("File() of what is not there = %v, want %v", err, fs.ErrNotExist)
	}
}
