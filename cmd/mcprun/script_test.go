package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpgen/mcpgen/runner/model/modeltest"
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
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"status": status, "sync": makeTree, "lines": lines, "plant": plant, "sql": editDatabase, "answer": answer, "model": startModel(t), "asked": asked},
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

// modelServers are the endpoints of the scripts, by their address.
var modelServers sync.Map

// startModel returns the command model FILE...: it starts an endpoint that answers with these files, in their order, and configures it.
func startModel(t *testing.T) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		srv := modeltest.New(t)
		for _, name := range args {
			srv.Add(modeltest.Answer{Text: ts.ReadFile(name)})
		}
		modelServers.Store(srv.URL, srv)
		ts.Setenv("MCPRUN_MODEL", "openai/test")
		ts.Setenv("OPENAI_BASE_URL", srv.URL+"/v1")
		ts.Setenv("OPENAI_API_KEY", "sk-the-key-of-the-model")
	}
}

// asked N FILE: the endpoint was asked N times; the file gets the last request as the model reads it.
func asked(ts *testscript.TestScript, neg bool, args []string) {
	srv, _ := modelServers.Load(strings.TrimSuffix(ts.Getenv("OPENAI_BASE_URL"), "/v1"))
	all := srv.(*modeltest.Server).Requests()
	if fmt.Sprint(len(all)) != args[0] {
		ts.Fatalf("the model was asked %d times, want %s", len(all), args[0])
	}
	text := all[len(all)-1].System
	for _, m := range all[len(all)-1].Messages {
		text += "\n" + string(m.Role) + ": " + m.Text
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text+"\n"), 0o600))
}
