//go:build linux && (amd64 || arm64)

package jail

import (
	"bytes"
	"os"
	"testing"
)

// Without namespaces, functions still run. The entries are those of the other tests.

func TestWithoutNamespaces(t *testing.T) {
	var out bytes.Buffer
	c, err := start(t.Context(), Config{ID: "bare", Entry: "surface", Stdout: &out}, false)
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := c.Wait(); err != nil || exit.Code != 0 || out.String() != "end\n" {
		t.Errorf("%+v %v, want Code 0, %q and no error\n%s", exit, err, "end\n", out.String())
	}
}

func TestWithoutNamespacesNoFiles(t *testing.T) {
	var out bytes.Buffer
	c, err := start(t.Context(), Config{ID: "bare", Entry: "func", Stdout: &out}, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Wait(); err != nil || out.String() != "no /etc\nstart: false true\nenvironment: 0\n" {
		t.Errorf("%v, want %q and no error\n%s", err, "no /etc\nstart: false true\nenvironment: 0\n", out.String())
	}
}

func TestWithoutNamespacesOnlyItsMounts(t *testing.T) {
	dir, err := os.MkdirTemp("", "jail") // not TempDir, whose parent nobody else can enter
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c, err := start(t.Context(), Config{ID: "bare", Entry: "paths", Args: []string{"/in"}, Stdout: &out,
		Mounts: []Mount{{Source: dir, Target: "/in", Writable: true}}}, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Wait(); err != nil || out.String() != "false\n" {
		t.Errorf("%v, want %q and no error\n%s", err, "false\n", out.String())
	}
	if _, err := os.Stat(dir + "/made"); err != nil {
		t.Error(err)
	}
}
