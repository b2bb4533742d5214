package interp

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// TestFindsAllOfAnInterpreter checks that each file exists, is shown once, and is not a personal file.
func TestFindsAllOfAnInterpreter(t *testing.T) {
	f := New(Options{LookPath: exec.LookPath})
	for rt, inside := range map[sandbox.Runtime]string{sandbox.Node: "/usr/bin/node", sandbox.Python: "/usr/bin/python3"} {
		in, err := f.Find(t.Context(), rt)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := f.Find(t.Context(), rt); err != nil || again != in {
			t.Errorf("%s was searched again: %v, want %v and no error", rt, err, in)
		}
		seen := make(map[string]bool)
		for _, file := range in.Files {
			if _, err := os.Stat(file.Source); err != nil {
				t.Errorf("%s: %v", rt, err)
			}
			if seen[file.Target] {
				t.Errorf("%s: %s is shown twice", rt, file.Target)
			}
			seen[file.Target] = true
			if !strings.HasPrefix(file.Target, "/usr/") && !strings.HasPrefix(file.Target, "/lib") {
				t.Errorf("%s: %q says something about the machine", rt, file.Target)
			}
		}
		if in.Inside != inside || !seen[inside] {
			t.Errorf("%s is at %s", rt, in.Inside)
		}
	}
}

func TestMissingInterpreterIsExplained(t *testing.T) {
	f := New(Options{LookPath: func(string) (string, error) { return "", fs.ErrNotExist },
		Elsewhere: map[sandbox.Runtime]string{sandbox.Python: "--sandbox other"}})
	for rt, hint := range map[sandbox.Runtime]string{
		sandbox.Node: "install node 20 or newer", sandbox.Python: "install python 3.11 or newer, or use --sandbox other",
	} {
		_, err := f.Find(t.Context(), rt)
		var missing *MissingError
		if !errors.As(err, &missing) || missing.Hint() != hint || missing.ExitCode() != 127 || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v", err)
		}
	}
	if _, err := f.Find(t.Context(), sandbox.QuickJS); err == nil {
		t.Error("an interpreter for QuickJS was found: got no error, want an error")
	}
	if _, err := New(Options{}).Find(t.Context(), sandbox.Node); err == nil {
		t.Error("a name was found without LookPath: got no error, want an error")
	}
}

// TestSlowInterpreterIsExplained checks that an interpreter which does not answer in time is not called broken.
func TestSlowInterpreterIsExplained(t *testing.T) {
	slow := filepath.Join(t.TempDir(), "python3")
	if err := os.WriteFile(slow, []byte("#!/bin/sh\nexec sleep 60\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := New(Options{LookPath: func(string) (string, error) { return slow, nil }}).Find(ctx, sandbox.Python)
	if err == nil || !strings.Contains(err.Error(), "did not answer in time") {
		t.Errorf("%v, want that it did not answer in time", err)
	}
}

// TestLibrariesOfAProgram checks that a static program needs no libraries, and others at least the C library.
func TestLibrariesOfAProgram(t *testing.T) {
	sh, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	libs, err := Libraries(sh)
	if err != nil || len(libs) == 0 {
		t.Errorf("%v %v", libs, err)
	}
	if _, err := Libraries("/etc/passwd"); err == nil {
		t.Error("a text has libraries: got no error, want an error")
	}
}

// TestPackagesGetLibraries checks which files of the machine packages get: libraries of a standard folder, and no file that they name by a path.
func TestPackagesGetLibraries(t *testing.T) {
	f := New(Options{LookPath: exec.LookPath})
	in, err := f.Find(t.Context(), sandbox.Python)
	if err != nil {
		t.Fatal(err)
	}
	var module []byte // one that needs libssl.so.3
	for _, file := range in.Files {
		found, _ := filepath.Glob(filepath.Join(file.Source, "lib-dynload", "_ssl.*.so"))
		for _, name := range found {
			if module, err = os.ReadFile(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	const needed, other = "libssl.so.3", "/etc/passwd" // of one length
	if !bytes.Contains(module, []byte(needed)) {
		t.Fatalf("the module _ssl of Python does not need %s", needed)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{
		"good.so": module, "absolute.so": bytes.ReplaceAll(module, []byte(needed), []byte(other)),
		"relative.so": bytes.ReplaceAll(module, []byte(needed), []byte("../passwd\x00\x00")), "none.so": []byte("no library"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := librariesOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, file := range list {
		found = found || filepath.Base(file.Target) == needed
		if !isELF(file.Source) || !strings.Contains(file.Source, "/lib") || strings.HasPrefix(file.Source, dir) {
			t.Errorf("packages get %+v", file)
		}
	}
	if !found {
		t.Errorf("packages get %v, want %s among them", list, needed)
	}
	without := *in
	without.Files = nil
	with, err := f.WithPackages(&without, dir)
	if err != nil || len(with.Files) != len(list) || without.Files != nil {
		t.Errorf("WithPackages() = %+v, %v, want the files %v", with, err, list)
	}
	if same, err := f.WithPackages(in, ""); err != nil || same != in {
		t.Errorf("WithPackages() without packages = %+v, %v, want the interpreter as it is", same, err)
	}
	if _, err := f.WithPackages(in, filepath.Join(dir, "absent")); err == nil {
		t.Error("WithPackages() of a folder that does not exist: got no error, want an error")
	}
}
