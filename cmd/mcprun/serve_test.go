package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/serve"
)

// serveApp runs `mcprun serve` with arguments that are refused, and returns its output.
func serveApp(t *testing.T, env map[string]string, args ...string) (int, string) {
	t.Helper()
	dir, home := t.TempDir(), t.TempDir()
	var stderr bytes.Buffer
	app := &cli.App{
		Name: "mcprun", FailCode: 125, Dir: dir, Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: &stderr,
		LookupEnv: func(name string) (string, bool) {
			if v, ok := env[name]; ok {
				return v, ok
			}
			if name == "HOME" || name == "LOCALAPPDATA" {
				return home, true
			}
			return "", false
		},
	}
	code := app.Run(t.Context(), newRoot(app, resources.Cold{}), append([]string{"serve"}, args...))
	return code, stderr.String()
}

// TestServeRefuses checks that settings which would admit unintended clients are refused before anything listens.
func TestServeRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const token = "0123456789abcdef"
	good := file("good", token+" acme\n", 0o600)
	open := file("open", token+" acme\n", 0o644)
	twice := file("twice", token+" acme\n"+token+" other\n", 0o600)
	hostile := file("hostile", token+" ../hostile\n", 0o600)
	for _, c := range []struct {
		want string
		env  map[string]string
		args []string
	}{
		{"needs a bearer token", nil, []string{"--http", "127.0.0.1:0"}},
		{"can be guessed", map[string]string{serve.TokenVariable: "short"}, []string{"--http", "127.0.0.1:0"}},
		{"other machines could run code", nil, []string{"--http", "0.0.0.0:0", "--no-token"}},
		{"other machines could run code", nil, []string{"--http", "example.com:80", "--no-token"}},
		{"is no address", nil, []string{"--http", "8700", "--no-token"}},
		{"give one of the two", nil, []string{"--http", "127.0.0.1:0", "--no-token", "--token-file", good}},
		{"needs --http", nil, []string{"--token-file", good}},
		{"needs --http", nil, []string{"--no-token"}},
		{"no such file", nil, []string{"--http", "127.0.0.1:0", "--token-file", filepath.Join(dir, "none")}},
		{"chmod 600", nil, []string{"--http", "127.0.0.1:0", "--token-file", open}},
		{"line 2", nil, []string{"--http", "127.0.0.1:0", "--token-file", twice}},
		{"hostile", nil, []string{"--http", "127.0.0.1:0", "--token-file", hostile}},
		{"--customer", nil, []string{"--customer", "../x"}},
		{"neither typescript nor python", nil, []string{"--languages", "ruby"}},
		{"does not run python", nil, []string{"--languages", "python", "--sandbox", "embedded"}},
		{"at most --max-timeout", nil, []string{"--timeout", "2m", "--max-timeout", "1m"}},
		{"give one of the two", nil, []string{"--customer", "acme", "--workspace", "x"}},
		{"unknown command", nil, []string{"now"}},
		{"--tools", nil, []string{"--tools", "some"}},
		{"write for example 100/1m", nil, []string{"--rate", "100"}},
		{"--rate needs a state", nil, []string{"--rate", "100/1m", "--audit=false"}},
	} {
		if runtime.GOOS == "windows" && c.want == "chmod 600" {
			continue
		}
		code, said := serveApp(t, c.env, c.args...)
		if code == 0 || !strings.Contains(said, c.want) {
			t.Errorf("%q: code %d: %s; want %q", c.args, code, said, c.want)
		}
		if strings.Contains(said, token) {
			t.Errorf("%q: the token is shown: %s, want no %q in it", c.args, said, token)
		}
	}
}

// TestServeHelp: every flag is explained, and its default is the server's.
// TestServeLanguages: languages that the sandbox does not run are not offered.
// TestServeWithoutProject: in a folder that is no project a server writes nothing, and says where it does.
func TestServeWithoutProject(t *testing.T) {
	home := t.TempDir()
	data := filepath.Join(home, "mcprun")
	start := func(dir string) *mcp.ClientSession {
		t.Helper()
		var log bytes.Buffer
		serve := exec.Command("mcprun", "serve", "--sandbox", "embedded")
		serve.Dir, serve.Env, serve.Stderr = dir, append(os.Environ(), "HOME="+home, "XDG_DATA_HOME="+home, "XDG_STATE_HOME=", "CI=1"), &log
		cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: serve}, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, log.String())
		}
		t.Cleanup(func() {
			_ = cs.Close()
			if !strings.Contains(log.String(), "there is no project in "+dir) || !strings.Contains(log.String(), data) {
				t.Errorf("the log does not say where files are, want %q in it and %q in it:\n%s", "there is no project in "+dir, data, log.String())
			}
		})
		return cs
	}
	call := func(cs *mcp.ClientSession, tool string, args map[string]any) string {
		t.Helper()
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil || res.IsError {
			t.Fatalf("%s: %v %v", tool, err, res)
		}
		return res.Content[0].(*mcp.TextContent).Text
	}
	first, second := t.TempDir(), t.TempDir()
	cs := start(first)
	call(cs, "execute_code", map[string]any{"code": `import { writeFileSync } from "fs"; writeFileSync("a.txt", "kept");`})
	call(cs, "save_skill", map[string]any{"name": "greet", "code": "export const hello = () => 'hello';", "description": "Greets."})
	if text, err := os.ReadFile(filepath.Join(data, "workspace", "a.txt")); string(text) != "kept" {
		t.Errorf(`a.txt in %s = %q, %v, want "kept"`, data, text, err)
	}
	if got := call(start(second), "execute_code", map[string]any{"code": `import { hello } from "./skills/greet"; console.log(hello());`}); !strings.Contains(got, "hello") {
		t.Errorf(`the skill in another folder says %q, want "hello" in it`, got)
	}
	for _, dir := range []string{first, second} {
		if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
			t.Errorf("serve wrote %v in the folder that it was started in, %v, want len(list) at most 0 and no error", list, err)
		}
	}

	if code, said := serveApp(t, map[string]string{"HOME": "", "LOCALAPPDATA": ""}); code == 0 || !strings.Contains(said, "set HOME or XDG_DATA_HOME") {
		t.Errorf("without a home: code %d: %s", code, said)
	}
}

func TestServeLanguages(t *testing.T) {
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`
	home := t.TempDir()
	var stdout, stderr bytes.Buffer
	stdin, end := io.Pipe()
	go io.WriteString(end, in)
	app := &cli.App{
		Name: "mcprun", FailCode: 125, Dir: t.TempDir(), Stdin: stdin, Stderr: &stderr,
		Stdout: writerFunc(func(p []byte) (int, error) {
			if stdout.Write(p); strings.Contains(stdout.String(), `"id":2`) {
				_ = end.Close()
			}
			return len(p), nil
		}),
		LookupEnv: func(name string) (string, bool) {
			if name == "HOME" || name == "LOCALAPPDATA" {
				return home, true
			}
			return "", false
		},
	}
	code := app.Run(t.Context(), newRoot(app, resources.Cold{}), []string{"serve", "--sandbox", "embedded"})
	if out := stdout.String(); code != 0 || !strings.Contains(out, `"enum":["typescript"]`) || strings.Contains(strings.ToLower(out), "python") {
		t.Errorf(`code %d: %s%s, want 0, %q in it and no "python" in it`, code, out, stderr.String(), `"enum":["typescript"]`)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestServeHelp(t *testing.T) {
	var out bytes.Buffer
	app := &cli.App{Name: "mcprun", Dir: t.TempDir(), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out}
	if code := app.Run(t.Context(), newRoot(app, resources.Cold{}), []string{"serve", "--help"}); code != 0 {
		t.Fatal(code)
	}
	for _, want := range []string{"claude mcp add mcprun", "--token-file", "(default 30s)", "(default 500MB)", "(default 120)", "mcprun serve --tools code"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the help has no %q:\n%s", want, out.String())
		}
	}
}
