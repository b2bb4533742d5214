package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the real program on the scripts in testdata.
func TestScripts(t *testing.T) { testscript.Run(t, scriptParams(t, "mcprun")) }

// scriptParams returns the parameters of the scripts in a folder of testdata/script. They use the sandbox that works everywhere.
func scriptParams(t *testing.T, folder string) testscript.Params {
	t.Helper()
	if err := buildMcpgen(); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return testscript.Params{
		Dir:                 filepath.Join(root, "testdata", "script", folder),
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", programs+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("MCPRUN_SANDBOX", "embedded")
			env.Setenv("MCPGEN_TRUST", "1") // trust.txtar takes it away
			env.Setenv("EXAMPLES", filepath.Join(root, "examples"))
			env.Setenv("NPM", filepath.Join(root, "testdata", "npm", "node_modules", ".bin"))
			return nil
		},
		Condition: func(name string) (bool, error) {
			var err error
			switch name {
			case "compilers":
				_, err = os.Stat(filepath.Join(root, "testdata", "npm", "node_modules", ".bin", "tsc"))
			case "process": // the sandbox, with both interpreters
				if runtime.GOOS != "linux" {
					return false, nil
				}
				_, nodeErr := exec.LookPath("node")
				_, pythonErr := exec.LookPath("python3")
				err = errors.Join(nodeErr, pythonErr)
			default:
				return false, fmt.Errorf("no such condition: %s", name)
			}
			return err == nil || os.Getenv("CI") != "", nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"status": status, "sync": makeTree, "lines": lines, "plant": plant, "sql": editDatabase, "answer": answer},
	}
}

// status CODE COMMAND...: the command must end with that exit code.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// makeTree, in scripts sync, configures the desk server and makes its tree.
func makeTree(ts *testscript.TestScript, neg bool, args []string) {
	for name, text := range map[string]string{
		".mcp.json":   `{"mcpServers": {"desk": {"command": "deskmcp", "args": ["notes.txt"]}}}`,
		"mcpgen.yaml": "version: 1\nservers: {desk: {protocol: legacy, trusted: true}}\n",
	} {
		if _, err := os.Stat(ts.MkAbs(name)); err != nil {
			ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
		}
	}
	ts.Check(ts.Exec("mcpgen", "sync"))
}

// lines N FILE: the file has N lines.
func lines(ts *testscript.TestScript, neg bool, args []string) {
	if n := strings.Count(ts.ReadFile(args[1]), "\n"); fmt.Sprint(n) != args[0] {
		ts.Fatalf("%s has %d lines, not %s", args[1], n, args[0])
	}
}
