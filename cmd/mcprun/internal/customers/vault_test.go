package customers

import (
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
