package runner

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestGuard(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"workspace", "servers/crm", "out/servers", "elsewhere"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(d)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "planted"), 0o755), os.WriteFile(filepath.Join(dir, "planted", "mcpgen.json"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), ".mcp.json")
	if err := os.WriteFile(filepath.Join(dir, "elsewhere", "real.json"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "elsewhere", "real.json"), link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		workspace, tree, trusted string
		refused                  bool
	}{
		{"workspace", "servers", "mcpgen.yaml", false},
		{"", "servers", "", false}, // where it is shown in any case
		{"", "servers", "mcpgen.yaml", true},
		{"", "out/servers", "", true},
		{"out", "out/servers", "mcpgen.yaml", false},
		{"servers", "servers", "", true},
		{"servers/crm", "servers", "", true},
		{"elsewhere", "", link, true},
		{"elsewhere", "", "elsewhere/none.yaml", true},
		{"elsewhere", "", "elsewhere2/none.yaml", false},
		{"planted", "", "", true},
	} {
		at := func(name string) string {
			if name == "" || filepath.IsAbs(name) {
				return name
			}
			return filepath.Join(dir, filepath.FromSlash(name))
		}
		r := &Runner{opt: Options{Tree: at(c.tree)}}
		if c.trusted != "" {
			r.opt.Trusted = []string{at(c.trusted)}
		}
		err := r.guard(filepath.Join(dir, filepath.FromSlash(c.workspace)))
		if _, refused := errors.AsType[*WorkspaceError](err); refused != c.refused {
			t.Errorf("%+v: %v: got %v, want %v", c, err, refused, c.refused)
		}
	}
}
