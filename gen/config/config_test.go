package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// write creates a new folder with the files and returns its path.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A script must not decide what mcpgen and mcprun start in its workspace.
func TestLocateInWorkspace(t *testing.T) {
	for _, c := range []struct {
		settings, in string
		refused      bool
	}{
		{"version: 1", "workspace", true},
		{"version: 1", "workspace/deep/er", true},
		{"version: 1", "workspaces/acme/state", true},
		{"version: 1", "packages/web", false},
		{"version: 1\nrun: {workspace: scratch}", "scratch", true},
		{"version: 1\nrun: {workspace: scratch}", "workspace", false},
		{"version: 1\nrun: {workspace: .}", "packages/web", true},
	} {
		for _, name := range []string{OwnName, FileName} {
			dir := t.TempDir()
			in := filepath.Join(dir, filepath.FromSlash(c.in))
			if err := os.MkdirAll(in, 0o755); err != nil {
				t.Fatal(err)
			}
			for path, text := range map[string]string{filepath.Join(dir, SettingsName): c.settings, filepath.Join(dir, FileName): "{}", filepath.Join(in, name): "{}"} {
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			_, err := Locate(in, nil)
			if refused := err != nil && strings.Contains(err.Error(), "one of them could have made it"); refused != c.refused || !refused && err != nil {
				t.Errorf("%s: Locate(%s) with %s = %v, want refused %v", c.settings, c.in, name, err, c.refused)
			}
			if _, err := Locate(in, []string{name}); err != nil {
				t.Errorf("Locate(%s) of a named file = %v", c.in, err)
			}
		}
	}
}

func TestLocate(t *testing.T) {
	dir := write(t, map[string]string{
		".mcp.json":           "{}",
		"repo/.git/HEAD":      "",
		"repo/a/b/x":          "",
		"repo2/.git":          "gitdir: elsewhere",
		"repo2/.mcp.json":     "{}",
		"repo2/a/b/x":         "",
		"repo2/c/.mcp.json":   "{}",
		"repo2/c/d/x":         "",
		"repo2/e/.mcp.json/x": "a folder of that name is no configuration",
		"plain/x":             "",
	})
	for name, text := range map[string]string{
		"both/mcpgen.json": "{}", "both/.mcp.json": "{}", "both/.git": "x", "both/sub/x": "", "both/inner/.mcp.json": "{}",
		"key/mcpgen.yaml": "version: 1\nconfig: conf/s.json\n", "key/mcpgen.json": "{}", "key/.mcp.json": "{}", "key/.git": "x", "key/sub/mcpgen.yaml": "version: 1\n",
	} {
		addFile(t, dir, name, text)
	}
	cases := map[string]string{ // starting folder → file found, or "" if none is
		".":         ".mcp.json",
		"plain":     "", // outside a repository, folders above do not count
		"repo":      "", // the root of the repository ends the search
		"repo/a/b":  "",
		"repo2/a/b": "repo2/.mcp.json",
		"repo2/c/d": "repo2/c/.mcp.json",
		"repo2/e":   "repo2/.mcp.json",

		"both":       "both/mcpgen.json",
		"both/sub":   "both/mcpgen.json",
		"both/inner": "both/inner/.mcp.json", // the nearest folder is used
		"key":        "key/conf/s.json",
		"key/sub":    "key/conf/s.json",
	}
	for from, want := range cases {
		got, err := Locate(filepath.Join(dir, from), nil)
		if want == "" {
			var missing *NotFoundError
			if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &missing) || missing.Hint() == "" {
				t.Errorf("Locate(%s) = %q, %v", from, got, err)
			}
			continue
		}
		if err != nil || len(got.Paths) != 1 || got.Paths[0] != filepath.Join(dir, want) {
			t.Errorf("Locate(%s) = %q, %v; want %s", from, got, err, want)
		}
	}
	got, err := Locate(filepath.Join(dir, "key"), []string{"x.json", "/y.json"})
	if want := (Location{Paths: []string{filepath.Join(dir, "key/x.json"), "/y.json"}}); err != nil || !cmp.Equal(got, want) {
		t.Errorf("Locate(named) = %v, %v; want %v", got, err, want)
	}
}

// What a mcpgen.yaml decides does not take effect without a list of servers beside it, which is told.
func TestLocateIdle(t *testing.T) {
	for _, key := range []string{"policy: {rules: []}", "network: {}", "run: {}", "pii: {mode: bridge}"} {
		dir := write(t, map[string]string{".mcp.json": "{}", ".git/HEAD": "", "sub/mcpgen.yaml": "version: 1\n" + key + "\n"})
		want, _, _ := strings.Cut(key, ":")
		if got, err := Locate(filepath.Join(dir, "sub"), nil); err != nil || got.IdleKey != want || got.Idle != filepath.Join(dir, "sub", "mcpgen.yaml") {
			t.Errorf("%s: Locate() = %+v, %v, want the key %s of the file in sub", key, got, err, want)
		}
	}
}

// If mcpgen.yaml names a file, the file is read for the folder of mcpgen.yaml, wherever the file is.
func TestConfigKey(t *testing.T) {
	dir := write(t, map[string]string{"mcpgen.yaml": "version: 1\nconfig: conf/s.json\nout: tree\n"})
	at, err := Locate(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := at.Load(); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "config: there is no file "+filepath.Join(dir, "conf", "s.json")) {
		t.Errorf("Load() without the file = %v", err)
	}
	addFile(t, dir, "conf/s.json", `{"mcpServers": {"a": {"command": "./a"}}}`)
	cfg, err := at.Load()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Dir != dir || cfg.Settings.Out != "tree" || cfg.Servers[0].Dir != dir {
		t.Errorf("Load() = folder %q, out %q, server in %q; want all of %q", cfg.Dir, cfg.Settings.Out, cfg.Servers[0].Dir, dir)
	}
	addFile(t, dir, "mcpgen.yaml", "version: 1\nconfig: [a\n")
	if _, err := Locate(dir, nil); err == nil || !strings.Contains(err.Error(), "mcpgen.yaml:") {
		t.Errorf(`Locate() with a broken mcpgen.yaml = %v, want an error and "mcpgen.yaml:" in it`, err)
	}
}

func addFile(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestLoad(t *testing.T) {
	dir := write(t, map[string]string{".mcp.json": "\ufeff" + `{
  // JSONC, as editors write it
  "$schema": "x",
  "mcpServers": {
    "zeta": {"command": "npx", "args": ["-y", "pkg", 3000, true], "env": {"KEY": "${KEY}", "PORT": 8080}, "cwd": "sub",
      "other": [1], /* other programs' keys */ },
    "Ä b/c": {"type": "STDIO", "command": "./run.sh"},
    "plain": {"url": "https://h/mcp", "headers": {"Authorization": "Bearer ${T}"}},
    "a": {"type": "http", "url": "u"}, "b": {"type": "streamable-http", "url": "u"}, "c": {"type": "streamableHttp", "url": "u"},
    "d": {"type": "streamable_http", "url": "u"}, "e": {"type": "SSE", "url": "u"}, "f": {"type": "StreamableHTTP", "url": "u"},
  },
}`})
	path := filepath.Join(dir, ".mcp.json")
	cfg, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	remote := func(key string, kind Transport) Server {
		return Server{Key: key, Transport: kind, URL: "u", Dir: dir, VarsDir: dir, Source: path, Host: Project}
	}
	want := []Server{
		{Key: "zeta", Transport: TransportStdio, Command: "npx", Args: []string{"-y", "pkg", "3000", "true"},
			Env: map[string]string{"KEY": "${KEY}", "PORT": "8080"}, Cwd: "sub", Dir: dir, VarsDir: dir, Source: path, Host: Project},
		{Key: "Ä b/c", Transport: TransportStdio, Command: "./run.sh", Dir: dir, VarsDir: dir, Source: path, Host: Project},
		{Key: "plain", Transport: TransportHTTP, Inferred: true, URL: "https://h/mcp", Headers: map[string]string{"Authorization": "Bearer ${T}"}, Dir: dir, VarsDir: dir, Source: path, Host: Project},
		remote("a", TransportHTTP), remote("b", TransportHTTP), remote("c", TransportHTTP), remote("d", TransportHTTP),
		remote("e", TransportSSE), remote("f", TransportHTTP),
	}
	if diff := cmp.Diff(want, cfg.Servers); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	settings := defaultSettings()
	settings.Path = filepath.Join(dir, SettingsName)
	if diff := cmp.Diff(settings, cfg.Settings, cmpopts.IgnoreUnexported(Settings{})); diff != "" || cfg.Path != path || cfg.Dir != dir {
		t.Errorf("path %q, settings (-want +got):\n%s", cfg.Path, diff)
	}
	if s, ok := cfg.Server("plain"); !ok || s.Key != "plain" {
		t.Errorf("Server: %v, %t", s, ok)
	}
	if _, ok := cfg.Server("nobody"); ok {
		t.Error("Server found nobody")
	}
}

func TestLoadErrors(t *testing.T) {
	server := func(body string) string { return "{\"mcpServers\": {\n\"x\": " + body + "\n}}" }
	cases := map[string]struct{ text, want string }{
		"no JSON":           {"{\n\"mcpServers\": {,}}", ".mcp.json:2: the JSON cannot be read at column 16; look for"},
		"not UTF-8":         {"{\"\xff\": 1}", "the file is not UTF-8"},
		"a list":            {"[]", ".mcp.json:1: the file holds a list, not an object"},
		"no servers":        {"{\n\n\"other\": {}}", `.mcp.json:1: there is no "mcpServers"; write {"mcpServers": {"name": {"command": …}}}`},
		"servers as list":   {"{\"mcpServers\":\n[]}", ".mcp.json:2: mcpServers: it is a list, not an object"},
		"twice":             {"{\"mcpServers\": {\n\"a\": {\"command\":\"c\"},\n\n\"a\": {\"command\":\"c\"}}}", ".mcp.json:4: mcpServers.a: the key is already on line 2; remove or rename"},
		"twice, escaped":    {`{"mcpServers": {"a": {"command":"c"}, "\u0061": {"command":"c"}}}`, "mcpServers.a: the key is already on line 1"},
		"blank name":        {`{"mcpServers": {" ": {"command":"c"}}}`, "a server has a blank name; give it a name"},
		"not an object":     {server(`"npx"`), ".mcp.json:2: mcpServers.x: it is a string, not an object"},
		"both":              {server(`{"command":"c","url":"u"}`), `mcpServers.x: it has both "command" and "url"; keep one`},
		"neither":           {server(`{"args":[]}`), `.mcp.json:2: mcpServers.x: it has neither "command" nor "url"; give it one`},
		"empty command":     {server(`{"command":" "}`), "mcpServers.x.command: it is empty"},
		"empty url":         {server(`{"url":""}`), "mcpServers.x.url: it is empty"},
		"unknown type":      {server(`{"type":"carrier pigeon","url":"u"}`), "mcpServers.x.type: the transport is not known; use stdio, http"},
		"type and command":  {server(`{"type":"http","command":"c"}`), `mcpServers.x.type: it is http, but the server has "command"`},
		"type and url":      {server(`{"type":"stdio","url":"u"}`), `mcpServers.x.type: it is stdio, but the server has "url"`},
		"command as list":   {server(`{"command":["npx","-y"]}`), "mcpServers.x.command: it is a list, not a string; write it as one string, and put arguments into args"},
		"args as string":    {server(`{"command":"c","args":"s3cret"}`), "mcpServers.x.args: it is a string, not a list"},
		"null in args":      {server(`{"command":"c","args":["a",null]}`), "mcpServers.x.args[1]: it is null, not a string"},
		"env of objects":    {server(`{"command":"c","env":{"A":{}}}`), "mcpServers.x.env.A: it is an object, not a string"},
		"env twice":         {server(`{"command":"c","env":{"A":"1","A":"2"}}`), "mcpServers.x.env.A: the key is already on line 2"},
		"env name":          {server(`{"command":"c","env":{"A=B":"1"}}`), `"A=B" cannot name a variable`},
		"header name":       {server(`{"url":"u","headers":{"A B":"s3cret"}}`), `mcpServers.x.headers: "A B" cannot name a header`},
		"header with break": {server(`{"url":"u","headers":{"A\n":"s3cret"}}`), `cannot name a header`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := write(t, map[string]string{".mcp.json": c.text})
			_, err := Load(filepath.Join(dir, ".mcp.json"))
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q, want %q", err, c.want)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf(`error %q holds a value, want no "s3cret" in it`, err)
			}
			var e *FileError
			if !errors.As(err, &e) || e.Remedy == "" {
				t.Errorf("error %T without a remedy", err)
			}
		})
	}
}

func TestLoadCollectsTheErrorsOfAllServers(t *testing.T) {
	dir := write(t, map[string]string{".mcp.json": `{"mcpServers": {"a": {}, "b": {"command": "c"}, "d": {"url": 1}}}`})
	_, err := Load(filepath.Join(dir, ".mcp.json"))
	if err == nil || !strings.Contains(err.Error(), "mcpServers.a") || !strings.Contains(err.Error(), "mcpServers.d") {
		t.Errorf(`error %v, want an error, "mcpServers.a" in it and "mcpServers.d" in it`, err)
	}
}

func TestLoadBoundsTheFile(t *testing.T) {
	dir := write(t, map[string]string{".mcp.json": strings.Repeat(" ", maxFileSize+1)})
	if _, err := Load(filepath.Join(dir, ".mcp.json")); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf(`error %v, want an error and "larger than" in it`, err)
	}
	if _, err := Load(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want %v", err, fs.ErrNotExist)
	}
}

// TestLoadLeavesOutOurOwnServer: a tree that contained the server that serves it would contain its own tools again.
func TestLoadLeavesOutOurOwnServer(t *testing.T) {
	const file = `{"mcpServers": {
		"plain": {"command": "mcprun", "args": ["serve"]},
		"path": {"command": "/opt/bin/mcprun", "args": ["serve", "--config", "x.json"]},
		"windows": {"command": "C:\\\\bin\\\\MCPRUN.exe", "args": ["serve"]},
		"gorun": {"command": "go", "args": ["run", "github.com/mcpgen/mcpgen/cmd/mcprun@latest", "serve"]},
		"wanted": {"command": "mcprun", "args": ["serve"]},
		"other": {"command": "mcprunner", "args": ["serve"]},
		"words": {"command": "notes", "args": ["mcprun", "serves"]},
		"bare": {"command": "mcprun"}
	}}`
	dir := write(t, map[string]string{".mcp.json": strings.ReplaceAll(file, `\\\\`, `\\`), "mcpgen.yaml": "version: 1\nservers:\n  wanted: {disabled: false}\n"})
	c, err := Load(filepath.Join(dir, ".mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	names := func(list []Server) string {
		var all []string
		for _, s := range list {
			all = append(all, s.Key)
		}
		return strings.Join(all, " ")
	}
	if got, want := names(c.Servers), "wanted other words bare"; got != want {
		t.Errorf("kept %s; want %s", got, want)
	}
	if got, want := names(c.Disabled), "plain path windows gorun"; got != want {
		t.Errorf("left out %s; want %s", got, want)
	}
	told := 0
	for _, n := range c.Notes {
		if !n.Minor && strings.Contains(n.Message, "mcprun serve") {
			told++
		}
	}
	if told != 4 {
		t.Errorf("%d of 4 are told: %v, want 4", told, c.Notes)
	}
}
