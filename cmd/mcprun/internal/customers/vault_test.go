package customers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
)

// TestVaultPlace checks that projects are told apart by their folders, whatever path leads there, and that no vault is where scripts write.
func TestVaultPlace(t *testing.T) {
	dir := t.TempDir()
	if cli.ProjectName(dir) != cli.ProjectName(filepath.Join(dir, "x", "..")) || cli.ProjectName(dir) == cli.ProjectName(filepath.Join(dir, "x")) {
		t.Error("names of projects")
	}
	for _, c := range []struct {
		dir, other string
		want       bool
	}{{"a/b", "a", true}, {"a", "a", true}, {"a", "a/b", false}, {"ab", "a", false}, {"..a", "", true}, {"a", "b", false}} {
		if got := project.IsBelow(filepath.Join(dir, c.dir), filepath.Join(dir, c.other)); got != c.want {
			t.Errorf("%q below %q: %v, want %v", c.dir, c.other, got, c.want)
		}
	}
}

// TestKeyPlace: the key can be kept in a folder that can be made, or that has it, and nothing is left there by the check.
func TestKeyPlace(t *testing.T) {
	dir := t.TempDir()
	app := func(state string) *cli.App {
		return &cli.App{LookupEnv: func(name string) (string, bool) { return filepath.Join(dir, state), name == "XDG_STATE_HOME" }}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if place, err := keyPlace(app("file")); err == nil {
		t.Errorf("keyPlace() = %q below a file, want an error", place)
	}
	place, err := keyPlace(app("new"))
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(place); err != nil || len(left) > 0 {
		t.Errorf("the folder has %v, %v, want nothing", left, err)
	}
}
