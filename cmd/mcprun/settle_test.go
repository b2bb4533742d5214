package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config"
)

// TestSettle: a flag goes before the environment, that before mcpgen.yaml, and that before the default.
func TestSettle(t *testing.T) {
	file := config.RunSettings{Sandbox: "docker", Image: "img", Memory: "64MB", Workspace: "work", Timeout: 7 * time.Second}
	p := &project{settings: config.Settings{Path: "mcpgen.yaml", Run: file}, dir: "/proj"}
	cases := []struct {
		args []string
		env  map[string]string
		want string
	}{
		{nil, nil, "docker 7s 64MB /proj/work"},
		{nil, map[string]string{"MCPRUN_SANDBOX": "process", "MCPRUN_TIMEOUT": "9", "MCPRUN_MEMORY": "128", "MCPRUN_WORKSPACE": "w"}, "process 9s 128MB w"},
		{[]string{"--sandbox", "auto", "--timeout", "11", "--memory", "256", "--workspace", "x"}, map[string]string{"MCPRUN_SANDBOX": "process"}, "auto 11s 256MB x"},
	}
	for _, c := range cases {
		o := &runOptions{app: &cli.App{LookupEnv: func(name string) (string, bool) { v, ok := c.env[name]; return v, ok }}}
		cmd := newScriptCmd(o.app, "mcprun", "")
		cmd.ResetFlags()
		o.bind(cmd)
		if err := cmd.ParseFlags(c.args); err != nil {
			t.Fatal(err)
		}
		if err := o.settle(p); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join([]string{o.sandbox, o.timeout.String(), o.memory.String(), filepath.ToSlash(o.workspace)}, " "); got != c.want {
			t.Errorf("%v, %v: %q, want %q", c.args, c.env, got, c.want)
		}
		if o.defaultImage != "img" || o.image != "" {
			t.Errorf("image %q, default %q", o.image, o.defaultImage)
		}
	}
}

// TestRunReadsTheSettings runs the command with settings that cannot be followed.
func TestRunReadsTheSettings(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(".mcp.json", `{"mcpServers": {}}`)
	for yaml, want := range map[string]string{
		"run: {sandbox: vm}":   `"vm"`,
		"run: {memory: 1KB}":   "mcpgen.yaml: run.memory: 1KB is too little",
		"run: {timeout: none}": "mcpgen.yaml:2: run.timeout: it is not a time above zero",
	} {
		write("mcpgen.yaml", "version: 1\n"+yaml+"\n")
		code, _, stderr := mcprun(t, "--config", filepath.Join(dir, ".mcp.json"), "-e", "1")
		if code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %q", yaml, code, stderr)
		}
	}
}
