package project

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

func TestHomeIsNoWorkspace(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(base, "people", "ann")
	if err := os.MkdirAll(filepath.Join(home, "work"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": home, "up": filepath.Dir(home)} {
		if err := os.Symlink(target, filepath.Join(base, name)); err != nil {
			t.Fatal(err)
		}
	}
	app := func(home string) *cli.App {
		return &cli.App{LookupEnv: func(name string) (string, bool) { return home, name == "HOME" || name == "USERPROFILE" }}
	}
	for _, c := range []struct{ home, workspace, want string }{
		{home, home, "is your home"},
		{home, filepath.Join(base, "link"), "is your home"},
		{filepath.Join(base, "link"), home, "is your home"},
		{home, filepath.Join(base, "people"), "holds your home"},
		{home, filepath.Join(base, "up"), "holds your home"},
		{home, filepath.Join(home, "work"), ""},
		{home, filepath.Join(base, "up", "ann", "work"), ""},
		{home, filepath.Join(home, "new"), ""},
		{"", home, ""},
		{"ann", home, ""},
		{string(filepath.Separator), home, ""},
		{filepath.Join(base, "nowhere"), home, ""},
	} {
		err := RefuseHome(app(c.home), c.workspace)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || len(cli.Hints(err)) == 0) {
			t.Errorf("home %q, workspace %q: %v", c.home, c.workspace, err)
		}
	}
	if _, err := os.Stat(filepath.Join(home, "new")); err == nil {
		t.Error("a folder was made: got no error, want an error")
	}
}

func TestProjectFiles(t *testing.T) {
	want := []string{config.SettingsName, config.OwnName, config.FileName}
	if got := workspace.ProjectFiles(); !slices.Equal(got, want) {
		t.Errorf("ProjectFiles() = %q, want %q", got, want)
	}
}
