package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckOutput(t *testing.T) {
	dir := t.TempDir()
	tree := filepath.Join(dir, "lib", "tools")
	list := filepath.Join(dir, "conf", "list.json")
	for _, folder := range []string{tree, filepath.Join(dir, "conf"), filepath.Join(dir, "other")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(list, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		"link.json": list, "chain.json": "link.json", "later.json": "mcpgen.json", "to-tree": tree, "to-conf": "conf", "plain.json": "free.json",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	hard := filepath.Join(dir, "hard.json")
	if err := os.Link(list, hard); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"report.json": "", "other/report.json": "", "missing/report.json": "", "plain.json": "", "env": "", ".env.json": "", "lib/report.json": "", "lib/tools2": "",
		"mcpgen.yaml": "named like", "mcpgen.json": "named like", ".mcp.json": "named like", ".env": "named like",
		"other/../MCPGEN.json": "named like", "other/.ENV": "named like", "later.json": "named like", "to-tree/.env": "named like",
		"conf/list.json": "a file of the project", "link.json": "a file of the project", "chain.json": "a file of the project",
		"to-conf/list.json": "a file of the project", "hard.json": "a file of the project", "other/../conf/./list.json": "a file of the project",
		"lib/tools": "in the generated tree", "lib/tools/.mcpgen/lock.json": "in the generated tree", "to-tree/x.json": "in the generated tree", "other/../lib/tools/x": "in the generated tree",
	} {
		err := CheckOutput(dir+string(filepath.Separator)+filepath.FromSlash(path), []string{list}, tree)
		var refused *OutputError
		if want == "" && err != nil || want != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), want) || refused.Hint() == "") {
			t.Errorf("CheckOutput(%q) = %v, want %q", path, err, want)
		}
	}
	if err := CheckOutput(filepath.Join(dir, "x.json"), nil, ""); err != nil {
		t.Errorf("CheckOutput() without a project = %v", err)
	}
	if err := CheckOutput(filepath.Join(dir, "later", "x.json"), nil, filepath.Join(dir, "later")); err == nil {
		t.Error("CheckOutput() in a tree that is still to be written = nil: got no error, want an error")
	}
}
