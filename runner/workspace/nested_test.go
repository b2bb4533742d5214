package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

func TestNested(t *testing.T) {
	for code, want := range map[string]bool{
		`await fs.writeFile('./workspace/leads.csv', csv)`: true,
		`open("workspace/leads.csv", "w")`:                 true,
		"`workspace/${name}`":                              true,
		`os.listdir("workspace")`:                          true,
		`workspace = 1; open("./workspace/x")`:             true,
		`open("/workspace/leads.csv")`:                     false,
		`open("../workspace/leads.csv")`:                   false,
		`open("my/workspace/leads.csv")`:                   false,
		`"workspaces"`:                                     false,
		`print(workspace)`:                                 false,
		`workspace`:                                        false,
		``:                                                 false,
	} {
		if got := Nested(code); got != want {
			t.Errorf("Nested(%s) = %v", code, got)
		}
	}
}

func TestNest(t *testing.T) {
	dir := t.TempDir()
	if !Nest(dir) || Nest(dir) {
		t.Error("Nest() created the folder twice")
	}
	Unnest(dir)
	if _, err := os.Stat(filepath.Join(dir, "workspace")); err == nil {
		t.Error("Unnest() left an empty folder")
	}
	Nest(dir)
	write(t, filepath.Join(dir, "workspace", "a"), "x")
	Unnest(dir)
	if _, err := os.Stat(filepath.Join(dir, "workspace", "a")); err != nil {
		t.Error(err)
	}
}
