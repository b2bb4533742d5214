package process_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
)

// Guests started by root run as another user. If that user cannot read the tree, an error must say so.
func TestUnreadableTree(t *testing.T) {
	b := backend(t)
	s := spec(sandbox.Python, `print(open("/mcp/servers/add.py").read())`)
	s.Tree = t.TempDir()
	file := filepath.Join(s.Tree, "add.py")
	if err := errors.Join(os.Chmod(s.Tree, 0o755), os.WriteFile(file, []byte("add"), 0o600)); err != nil {
		t.Fatal(err)
	}
	read := func() {
		t.Helper()
		if exit, out, stderr := run(t, b, s); exit.Code != 0 || out != "add\n" {
			t.Errorf("%+v %q %s, want Code 0 and %q", exit, out, stderr, "add\n")
		}
	}
	if jail.User() == os.Geteuid() {
		read() // the guest owns it
		return
	}
	refused := func(err error, path string) {
		t.Helper()
		f, ok := errors.AsType[*folder.Error](err)
		if !ok || f.Path != path || f.Hint() == "" {
			t.Errorf("got %v; %s is to be named, with a remedy", err, path)
		}
	}
	_, err := b.Start(t.Context(), s)
	refused(err, file)
	i, _ := warmed(t, t.Context(), b, waiting(sandbox.Python, ""))
	_, err = i.Adopt(t.Context(), s)
	refused(err, file)
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	read()
	s.Workspace = t.TempDir() // as after a run in a folder that only root may enter, but which its access control list opens to the guest
	s.Tree = filepath.Join(s.Workspace, "servers")
	if err := os.Chmod(s.Workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	first := spec(sandbox.Python, `print("add")`)
	first.Workspace = s.Workspace
	if exit, out, stderr := run(t, b, first); exit.Code != 0 {
		t.Fatalf("%+v %q %s, want Code 0", exit, out, stderr)
	}
	if err := errors.Join(os.Mkdir(s.Tree, 0o755), os.WriteFile(filepath.Join(s.Tree, "add.py"), []byte("add"), 0o644)); err != nil {
		t.Fatal(err)
	}
	read()
}
