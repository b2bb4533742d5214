package soak

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/pool"
)

func TestMain(m *testing.M) {
	backends.RunChild()
	if crashes() {
		return
	}
	os.Exit(runTests(m))
}

// names returns the sandboxes under test.
func names() []string { return []string{"embedded", "process", "docker", "gvisor"} }

// open opens a sandbox by its name, with dir as its runtime folder.
func open(name, dir string) (sandbox.Backend, error) {
	all, err := backends.List(backends.Options{LookupEnv: func(variable string) (string, bool) {
		if variable == "XDG_RUNTIME_DIR" {
			return dir, true
		}
		return os.LookupEnv(variable)
	}})
	if err != nil {
		return nil, err
	}
	var found sandbox.Backend
	for _, b := range all {
		if b.Name() == name {
			found = b
		} else if err := b.Close(); err != nil {
			return nil, err
		}
	}
	if found == nil {
		return nil, fmt.Errorf("there is no sandbox %q", name)
	}
	return found, nil
}

// openWarm opens a sandbox with a pool of warm guests.
func openWarm(name, dir string) (sandbox.Backend, error) {
	b, err := open(name, dir)
	if err != nil {
		return nil, err
	}
	warmer, ok := b.(sandbox.Warmer)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the sandbox %q keeps no warm guests", name), b.Close())
	}
	return pool.New(warmer, nil), nil
}

// need returns the languages of a sandbox. If the sandbox does not work, the test fails in CI and is skipped elsewhere.
func need(t *testing.T, name string) []sandbox.Language {
	t.Helper()
	b, err := open(name, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	st := b.Probe(t.Context())
	if st.Usable && (len(st.Languages) == 2 || name == "embedded") {
		return slices.Sorted(slices.Values(st.Languages))
	}
	problem := fmt.Sprintf("the sandbox %s does not run everything here: %s (%s)", name, st.Detail, st.Remedy)
	if os.Getenv("CI") != "" {
		t.Fatal(problem)
	}
	t.Skip(problem)
	return nil
}

// tree returns the generated tree of this repository, with the demo servers. Tests run in the folder of their package.
func tree() string {
	dir, _ := filepath.Abs(filepath.Join("..", "..", "..", "..", "servers")) // the working directory exists
	return dir
}

// privateDir returns a folder that other users can enter, with a path short enough for sockets.
func privateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "soak-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

func number(t *testing.T, variable string, fallback int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is not a number above 0, want at least 1 and no error", variable, text)
	}
	return n
}
