//go:build unix

package mcpserver_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpgen/mcpgen/runner/mcpserver"
)

// TestHostileFiles checks that links and pipes of a script neither lead out of the workspace nor block the server.
func TestHostileFiles(t *testing.T) {
	w := newFixture(t)
	dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	w.opt.Customer = func(_ context.Context, id string) (*mcpserver.Customer, error) {
		return &mcpserver.Customer{ID: id, Files: dir, Quota: 4096}, nil
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(secret, []byte("SECRET"), 0o600))
	must(os.Symlink(secret, filepath.Join(dir, "link")))
	must(os.Symlink(filepath.Dir(secret), filepath.Join(dir, "out")))
	must(syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	must(os.WriteFile(filepath.Join(dir, "bin"), []byte{0xff, 0, 1}, 0o600))
	cs := w.stdio(w.server(), revisions[1], nil)
	for _, c := range []struct{ tool, name string }{
		{"read_workspace_file", "link"}, {"read_workspace_file", "out/secret"}, {"read_workspace_file", "pipe"}, {"read_workspace_file", "../secret"},
		{"read_workspace_file", secret}, {"write_workspace_file", "out/new"}, {"write_workspace_file", "x\x00y"}, {"write_workspace_file", ""},
		{"list_workspace_files", "out"},
	} {
		args := map[string]any{"filename": c.name, "content": "x"}
		switch c.tool {
		case "read_workspace_file":
			delete(args, "content")
		case "list_workspace_files":
			args = map[string]any{"subpath": c.name}
		}
		res := call(t, cs, c.tool, args)
		if text := textOf(res); !res.IsError || strings.Contains(text, "SECRET") || strings.Contains(text, filepath.Dir(secret)) && c.name != secret {
			t.Errorf("%s %q: error %v: %s", c.tool, c.name, res.IsError, text)
		}
	}
	if text := textOf(call(t, cs, "write_workspace_file", map[string]any{"filename": "big", "content": strings.Repeat("x", 5000)})); !strings.Contains(text, "may hold 4096") {
		t.Errorf(`quota: %s, want "may hold 4096" in it`, text)
	}
	// A link is replaced, not written through.
	if res := call(t, cs, "write_workspace_file", map[string]any{"filename": "link", "content": "mine"}); res.IsError {
		t.Error(textOf(res))
	}
	if data, _ := os.ReadFile(secret); string(data) != "SECRET" {
		t.Errorf("the secret is %q, want SECRET", data)
	}
	if res := call(t, cs, "read_workspace_file", map[string]any{"filename": "bin"}); structured(t, res, "base64") != true || structured(t, res, "content") != "/wAB" {
		t.Errorf("bytes: %+v", res.StructuredContent)
	}
}
