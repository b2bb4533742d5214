package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// makeWheel is a program that makes a folder with one wheel.
const makeWheel = `
import os, sys, zipfile
os.makedirs("wheels", exist_ok=True)
info = "tinymod-1.0.dist-info/"
files = {"tinymod.py": f"answer = {sys.argv[1]}\n", info + "METADATA": "Metadata-Version: 2.1\nName: tinymod\nVersion: 1.0\n",
    info + "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
with zipfile.ZipFile("wheels/tinymod-1.0-py3-none-any.whl", "w") as wheel:
    for name, text in files.items():
        wheel.writestr(name, text)
    wheel.writestr(info + "RECORD", "".join(f"{name},,\n" for name in (*files, info + "RECORD")))
`

// TestServeFollowsPackages checks that a running server runs nothing while its project names packages that are not installed, or with a file that
// was changed, and goes on once they are installed.
func TestServeFollowsPackages(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	t.Cleanup(func() { // folders of packages are read-only
		_ = filepath.WalkDir(cache, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				err = os.Chmod(path, 0o700)
			}
			return err
		})
	})
	env := append(os.Environ(), "MCPGEN_TRUST=1", "HOME="+t.TempDir(), "XDG_STATE_HOME=", "XDG_CACHE_HOME="+cache, "CI=1")
	run := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
	}
	for name, text := range map[string]string{".mcp.json": `{"mcpServers": {}}`, "mcpgen.yaml": "version: 1\nrun: {packages: {python: wheels}}\n", "wheel.py": makeWheel} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run("python3", "wheel.py", "41")
	run("mcprun", "packages", "install")
	serve := exec.Command("mcprun", "serve", "--sandbox", "process")
	serve.Dir, serve.Env, serve.Stderr = dir, env, t.Output()
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: serve}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	want := func(want string) {
		t.Helper()
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": "import tinymod\nprint('answer', tinymod.answer)", "language": "python"}})
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, c := range res.Content {
			if c, ok := c.(*mcp.TextContent); ok {
				text += c.Text
			}
		}
		if !strings.Contains(text, want) {
			t.Errorf("execute_code says %q, want %q in it", text, want)
		}
	}
	described := func() string {
		t.Helper()
		tools, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range tools.Tools {
			if tool.Name == "execute_code" {
				return tool.Description
			}
		}
		return ""
	}
	want("answer 41")
	run("python3", "wheel.py", "42")
	want("mcprun packages install")
	run("mcprun", "packages", "install")
	want("answer 42")
	if text := described(); !strings.Contains(text, "Python: tinymod") {
		t.Errorf("the description is %q, want the package in it", text)
	}
	want("answer 42") // from now on, the server watches the packages
	modules, err := filepath.Glob(filepath.Join(cache, "mcpgen", "packages", "*", "python*", "tinymod.py"))
	if err != nil || len(modules) == 0 {
		t.Fatalf("no module is installed (%v)", err)
	}
	for _, module := range modules { // of both wheels
		if err := os.Chmod(module, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(module, []byte("answer = 43\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want("was changed after the packages were installed")
	run("mcprun", "packages", "install")
	want("answer 42")
}
