package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config"
)

// TestServeAsksTwiceForASharedFile checks that a file for all projects of a person needs a second yes.
func TestServeAsksTwiceForASharedFile(t *testing.T) {
	const before = `{"mcpServers": {"a": {"command": "x"}}}`
	for answers, moved := range map[string]bool{"y\ny\n": true, "y\nn\n": false, "y\n": false, "n\ny\n": false} {
		dir := t.TempDir()
		own := filepath.Join(dir, "home", ".codeium", "windsurf", "mcp_config.json")
		project := filepath.Join(dir, "project")
		for _, folder := range []string{filepath.Dir(own), project} {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(own, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, asked bytes.Buffer
		app := &cli.App{
			Name: "mcpgen", Dir: project, Stdout: &out, Stderr: &asked, Stdin: iotest.OneByteReader(strings.NewReader(answers)),
			Terminal: cli.Terminal{Stdin: true, Stderr: true},
			LookupEnv: func(name string) (string, bool) {
				if name == "HOME" || name == "USERPROFILE" {
					return filepath.Join(dir, "home"), true
				}
				return "", false
			},
		}
		cmd := newInitCmd(app)
		cmd.SetArgs([]string{"--from", "windsurf", "--serve"})
		if err := cmd.Execute(); err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(own)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(after) != before; got != moved {
			t.Errorf("answers %q: changed = %v, want %v\n%s%s", answers, got, moved, &out, &asked)
		}
		if !strings.Contains(out.String(), "is for all your projects: in each of them, windsurf will start mcprun") {
			t.Errorf("answers %q: it is not said for whom the file is, want \"is for all your projects: in each of them, windsurf will start mcprun\" in it:\n%s", answers, &out)
		}
		if _, err := os.Stat(filepath.Join(project, "mcpgen.json")); (err == nil) != moved {
			t.Errorf("answers %q: mcpgen.json: %v", answers, err)
		}
	}
}

// TestNpx starts npx through the shell on Windows, where it is a script.
func TestNpx(t *testing.T) {
	for system, want := range map[string]config.Launch{
		"windows": {Command: "cmd", Args: []string{"/c", "npx", "-y", "mcprun"}},
		"linux":   {Command: "npx", Args: []string{"-y", "mcprun"}},
	} {
		got := npx(system, "-y", "mcprun")
		if got.Command != want.Command || !slices.Equal(got.Args, want.Args) {
			t.Errorf("npx(%q) = %+v, want %+v", system, got, want)
		}
		entry := config.Server{Command: got.Command, Args: append(got.Args, "serve")}
		if !startsNpx(got) || !entry.ServesTree() {
			t.Errorf("on %s the entry is not recognized: npx %v, mcprun serve %v", system, startsNpx(got), entry.ServesTree())
		}
	}
	if shim := (&config.Server{Command: `C:\npm\mcprun.cmd`, Args: []string{"serve"}}); !shim.ServesTree() {
		t.Error("the script that npm writes on Windows is not recognized as mcprun")
	}
}
