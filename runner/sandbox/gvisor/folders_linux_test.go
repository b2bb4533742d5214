package gvisor_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/gvisor"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
)

// Guests started by root run as nobody, who must be able to read the tree; otherwise an error must say so. They are also in the workspace's
// group.
func TestUnreadableTree(t *testing.T) {
	if os.Geteuid() != 0 {
		return // the guest is then the caller, who can read their own files
	}
	each(t, func(t *testing.T, b *gvisor.Backend) {
		s := spec(sandbox.Python, `print(open("/mcp/servers/add.py").read())`)
		s.Workspace, s.Tree = workspace(t), workspace(t)
		file := filepath.Join(s.Tree, "add.py")
		if err := os.WriteFile(file, []byte("add"), 0o600); err != nil {
			t.Fatal(err)
		}
		refused := func(err error) {
			t.Helper()
			f, ok := errors.AsType[*folder.Error](err)
			if !ok || f.Path != file || f.Hint() == "" {
				t.Errorf("got %v; %s is to be named, with a remedy", err, file)
			}
		}
		_, err := b.Start(t.Context(), s)
		refused(err)
		idle, _ := warm(t, b, spec(sandbox.Python, waiting))
		_, err = idle.Adopt(t.Context(), s)
		refused(err)
		for _, mode := range []os.FileMode{0o640, 0o644} {
			if err := os.Chmod(file, mode); err != nil {
				t.Fatal(err)
			}
			if exit, out, stderr := run(t, b, s); exit.Code != 0 || out != "add\n" {
				t.Errorf("mode %v: %+v %q %s, want Code 0 and %q", mode, exit, out, stderr, "add\n")
			}
		}
		s.Workspace = "" // it is then in no group
		if err := os.Chmod(file, 0o640); err != nil {
			t.Fatal(err)
		}
		_, err = b.Start(t.Context(), s)
		refused(err)
	})
}
