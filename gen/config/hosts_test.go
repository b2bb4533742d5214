package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpgen/mcpgen/gen/config/node"
)

// hostCase is a fixture and its expected result. The project is /home/me/shop.
type hostCase struct {
	host    Host
	servers []Server
	notes   []string // notes that everybody sees
	minor   []string // minor notes, shown on request
}

const shop = "/home/me/shop"

func hostCases() map[string]hostCase {
	return map[string]hostCase{
		".claude.json": {host: ClaudeCode, servers: []Server{
			{Key: "linear", Transport: TransportHTTP, URL: "https://mcp.linear.app/mcp", OAuth: &OAuth{ClientID: "abc", CallbackPort: 8765, Scopes: []string{"read", "write"}}},
			{Key: "files", Transport: TransportStdio, Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "."}, Env: map[string]string{}},
			{Key: "internal", Transport: TransportHTTP, URL: "https://tools.corp.example/mcp"},
			{Key: "db", Transport: TransportSSE, URL: "${DB_URL:-http://localhost:8811}/sse", Headers: map[string]string{"X-Api-Key": "${DB_KEY}"}},
		}, notes: []string{`"internal": headersHelper: the program that makes headers is not run`, `"live": left out: it uses WebSocket`},
			minor: []string{`oauth.authServerMetadataUrl`, `"files": the entry of this project replaces`}},
		"claude_desktop_config.json": {host: ClaudeDesktop, servers: []Server{
			{Key: "brave-search", Transport: TransportStdio, Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-brave-search", "${:-$}{NOT_A_VARIABLE}"}, Env: map[string]string{"BRAVE_API_KEY": "BSA-literal"}},
		}},
		".cursor/mcp.json": {host: Cursor, servers: []Server{
			{Key: "local", Transport: TransportStdio, Command: shop + "/bin/server", Args: []string{"--name", "shop", "--cache", "${HOME}/.cache", "--plain", "${PLAIN}"},
				Env: map[string]string{"TOKEN": "${env:LOCAL_TOKEN}"}, EnvFile: shop + "/.env.local"},
			{Key: "remote", Transport: TransportHTTP, Inferred: true, URL: "https://mcp.example.com/mcp", Headers: map[string]string{"Authorization": "Bearer ${env:REMOTE_TOKEN}"},
				OAuth: &OAuth{ClientID: "client", ClientSecret: "${env:CLIENT_SECRET}", Scopes: []string{"read", "write"}}},
		}},
		".vscode/mcp.json": {host: VSCode, servers: []Server{
			{Key: "perplexity", Transport: TransportStdio, Command: "npx", Args: []string{"-y", "server-perplexity-ask", "--region=${MCPGEN_INPUT_REGION:-eu}"},
				Env: map[string]string{"PERPLEXITY_API_KEY": "${MCPGEN_INPUT_PERPLEXITY_KEY}"}, EnvFile: shop + "/.env", Cwd: shop + "/tools"},
			{Key: "github", Transport: TransportHTTP, Inferred: true, URL: "https://api.githubcopilot.com/mcp/"},
			{Key: "old", Transport: TransportSSE, URL: "http://localhost:3001/sse"},
		}, notes: []string{`"socket": left out: it listens on a socket`}, minor: []string{"sandboxEnabled", "sandbox:", "dev:", `MCPGEN_INPUT_PERPLEXITY_KEY ("Perplexity API Key")`}},
		"mcp_config.json": {host: Windsurf, servers: []Server{
			{Key: "figma", Transport: TransportHTTP, Inferred: true, URL: "https://mcp.figma.example/mcp", Headers: map[string]string{"Authorization": "Bearer ${file:/run/secrets/figma}", "X-User": "${env:USER}"}},
			{Key: "github", Transport: TransportStdio, Command: "docker", Args: []string{"run", "-i", "--rm", "ghcr.io/github/github-mcp-server"}, Exclude: []string{"delete_file", "push_files"}},
			{Key: "off", Transport: TransportStdio, Command: "npx", Args: []string{"-y", "whatever"}, Disabled: true},
		}},
		".codex/config.toml": {host: Codex, servers: []Server{
			{Key: "docs", Transport: TransportStdio, Command: "npx", Args: []string{"-y", "docs-mcp", "${:-$}{literal}"}, PassEnv: []string{"DOCS_TOKEN", "REGION"}, Cwd: "tools",
				Env: map[string]string{"LOG": "debug"}, StartupTimeout: 20500 * time.Millisecond, Timeout: 90 * time.Second, Include: []string{"search", "read"}, Exclude: []string{"read"}},
			{Key: "figma.com", Transport: TransportHTTP, URL: "https://mcp.figma.com/mcp", StartupTimeout: 15 * time.Second,
				Headers: map[string]string{"Authorization": "Bearer ${FIGMA_TOKEN}", "X-Region": "eu", "X-Team": "${FIGMA_TEAM}"},
				OAuth:   &OAuth{ClientID: "codex", Scopes: []string{"files:read"}, Resource: "https://mcp.figma.com"}},
			{Key: "off", Transport: TransportStdio, Command: "old", Disabled: true},
		}, minor: []string{"default_tools_approval_mode", "required", "supports_parallel_tool_calls", "tools"}},
		".gemini/settings.json": {host: Gemini, servers: []Server{
			{Key: "python", Transport: TransportStdio, Command: "python", Args: []string{"-m", "my_server", "--key", "${MY_KEY}", "${OTHER}", "costs $5"}, Cwd: "./srv",
				Env: map[string]string{"DATABASE_URL": "${DB_CONNECTION_STRING}"}, Timeout: 15 * time.Second, Trusted: true, Include: []string{"safe_tool", "run"}, Exclude: []string{"run"}},
			{Key: "stream", Transport: TransportHTTP, URL: "http://localhost:3000/mcp", Headers: map[string]string{"X": "${X_HEADER}"}, OAuth: &OAuth{ClientID: "gemini", ClientSecret: "${SECRET}", Scopes: []string{"a"}}},
			{Key: "events", Transport: TransportSSE, URL: "http://localhost:8080/events"},
			{Key: "off", Transport: TransportStdio, Command: "x", Disabled: true},
			{Key: "unlisted", Transport: TransportStdio, Command: "y", Disabled: true},
		}, minor: []string{"authProviderType"}},
		".copilot/mcp-config.json": {host: VSCode, servers: []Server{ // also the name of Copilot CLI's file, which has the common key
			{Key: "browser", Transport: TransportStdio, Command: "npx", Args: []string{"@playwright/mcp@latest"}, Env: map[string]string{"A": "${TOKEN}"}, Include: []string{"*"}},
			{Key: "docs", Transport: TransportHTTP, Inferred: true, URL: "https://mcp.example.com/mcp", Headers: map[string]string{"K": "${K:-x}"}, Include: []string{"get"}},
		}},
		".zed/settings.json": {host: Zed, servers: []Server{
			{Key: "local", Transport: TransportStdio, Command: "some-command", Args: []string{"arg-1", "${:-$}{X}"}, Env: map[string]string{"A": "b"}},
			{Key: "older", Transport: TransportStdio, Command: "node", Args: []string{"server.js"}, Env: map[string]string{"K": "v"}},
			{Key: "remote", Transport: TransportHTTP, Inferred: true, URL: "https://mcp.example.com/mcp", Headers: map[string]string{"Authorization": "Bearer literal"}},
			{Key: "off", Transport: TransportStdio, Command: "x", Disabled: true},
		}, notes: []string{`"extension": left out: an extension of Zed starts it`}},
		"opencode.jsonc": {host: OpenCode, servers: []Server{
			{Key: "everything", Transport: TransportStdio, Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-everything"},
				Env: map[string]string{"KEY": "${MY_KEY}", "JSON": `{"a": 1} ${:-$}{x}`}, StartupTimeout: 10 * time.Second},
			{Key: "sentry", Transport: TransportHTTP, Inferred: true, URL: "https://mcp.sentry.dev/mcp", Headers: map[string]string{"Authorization": "Bearer ${file:FIXTURES/secret.txt}"},
				OAuth: &OAuth{ClientID: "${ID}", Scopes: []string{"read", "write"}}},
			{Key: "off", Transport: TransportHTTP, Inferred: true, URL: "https://x.example/mcp", Disabled: true},
		}, minor: []string{`"jira": left out: it only switches a server of another file`}},
	}
}

func TestHosts(t *testing.T) {
	fixtures, err := filepath.Abs(filepath.Join("testdata", "hosts"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range hostCases() {
		t.Run(string(c.host), func(t *testing.T) {
			path := filepath.Join(fixtures, name)
			for _, host := range []Host{c.host, ""} { // named, and detected
				f, err := ReadFile(path, &ReadOptions{Host: host, Project: shop})
				if err != nil {
					t.Fatal(err)
				}
				if f.Host != c.host {
					t.Errorf("it is taken for a file of %q, want %q", f.Host, c.host)
				}
				for i := range c.servers {
					s := &c.servers[i]
					s.Dir, s.Source, s.Host = shop, path, c.host
					for k, v := range s.Headers {
						s.Headers[k] = strings.ReplaceAll(v, "FIXTURES", fixtures)
					}
				}
				if diff := cmp.Diff(c.servers, f.Servers, cmp.Comparer(func(a, b Server) bool { return serverText(a) == serverText(b) })); diff != "" {
					for i := range c.servers {
						if i < len(f.Servers) && serverText(c.servers[i]) != serverText(f.Servers[i]) {
							t.Errorf("want %s\ngot  %s", serverText(c.servers[i]), serverText(f.Servers[i]))
						}
					}
					t.Errorf("%d servers, want %d", len(f.Servers), len(c.servers))
				}
				checkNotes(t, f.Notes, false, c.notes)
				checkNotes(t, f.Notes, true, c.minor)
			}
		})
	}
}

// checkNotes checks that there are exactly the notes that contain the texts.
func checkNotes(t *testing.T, notes []Note, minor bool, want []string) {
	t.Helper()
	var got []string
	for _, n := range notes {
		if n.Minor == minor {
			got = append(got, n.String())
		}
	}
	if len(got) < len(want) || !minor && len(got) != len(want) {
		t.Errorf("notes %q, want %q", got, want)
	}
	for _, w := range want {
		if !strings.Contains(strings.Join(got, "\n"), w) {
			t.Errorf("no note says %q:\n%s", w, strings.Join(got, "\n"))
		}
	}
}

// TestEveryHostHasAFixture checks that the table is complete.
func TestEveryHostHasAFixture(t *testing.T) {
	have := map[Host]bool{}
	for _, c := range hostCases() {
		have[c.host] = true
	}
	for _, h := range Hosts() {
		if !have[h] {
			t.Errorf("no fixture of %s", h)
		}
	}
}

func TestMistakesInHostsFiles(t *testing.T) {
	cases := map[string]struct{ name, text, want string }{
		"YAML":                {"mcpgen.yaml", "version: 1\nservers:\n  x: {}\n", "mcpgen.yaml:1: servers are read from JSON or TOML, not from YAML"},
		"TOML":                {"config.toml", "a = 1\n[mcp_servers.x\ncommand = 's3cret'", "config.toml:2: the TOML cannot be read"},
		"TOML, a server":      {"config.toml", "[mcp_servers.x]\ncommand = 'c'\n\n[mcp_servers.x.env]\nA = ['s3cret']", "config.toml:5: mcp_servers.x.env.A: it is a list"},
		"TOML, two kinds":     {"config.toml", "[mcp_servers.x]\ncommand = 'c'\nurl = 's3cret'", `config.toml:1: mcp_servers.x: it has both "command" and "url"`},
		"TOML, a time":        {"config.toml", "[mcp_servers.x]\ncommand = 'c'\ntool_timeout_sec = -1", "config.toml:3: mcp_servers.x.tool_timeout_sec: it is not a time above zero; write it as a number of seconds"},
		"TOML, a variable":    {"config.toml", "[mcp_servers.x]\nurl = 'u'\nbearer_token_env_var = 's3cret-$'", "bearer_token_env_var: it does not name a variable"},
		"TOML, env_vars":      {"config.toml", "[mcp_servers.x]\ncommand = 'u'\nenv_vars = ['a b']", "env_vars: an entry does not name a variable"},
		"TOML, a header":      {"config.toml", "[mcp_servers.x]\nurl = 'u'\nenv_http_headers = {X = 's3cret $'}", "env_http_headers.X: it does not name a variable"},
		"an input without id": {"mcp.json", "{\"inputs\": [\n{}], \"servers\": {}}", "mcp.json:2: inputs: an input has no id"},
		"inputs":              {"mcp.json", `{"inputs": {}, "servers": {}}`, "inputs: it is an object, not a list"},
		"disabled":            {".mcp.json", `{"mcpServers": {"x": {"command": "c", "disabled": "yes"}}}`, "mcpServers.x.disabled: it is a string, not a boolean"},
		"a grant":             {".mcp.json", `{"mcpServers": {"x": {"url": "u", "oauth": {"grant": "password"}}}}`, `mcpServers.x.oauth.grant: unknown grant "password"`},
		"a port":              {".mcp.json", `{"mcpServers": {"x": {"url": "u", "oauth": {"callbackPort": 70000}}}}`, "mcpServers.x.oauth.callbackPort: it is not a port"},
		"oauth":               {".mcp.json", `{"mcpServers": {"x": {"url": "u", "oauth": [1]}}}`, "mcpServers.x.oauth: it is a list, not an object"},
		"Zed's older form":    {"settings.json", `{"context_servers": {"x": {"command": {"path": "c"}}}}`, "context_servers.x.command: it is an object, not a string"},
		"quotes":              {".mcp.json", `{"mcpServers": {"x": {"command": "uvx 'a b'"}}}`, "mcpServers.x.command: it holds arguments in quotes; put each argument into args"},
		"too deep":            {".mcp.json", strings.Repeat("[", 1<<20), "nested too deep"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := write(t, map[string]string{c.name: c.text})
			_, err := ReadFile(filepath.Join(dir, c.name), nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf(`the error %q holds a value, want no "s3cret" in it`, err)
			}
		})
	}
}

func TestCommandLines(t *testing.T) {
	cases := map[string][]string{
		"npx -y pkg":                  {"npx", "-y", "pkg"},
		"/Applications/My App/server": {"/Applications/My App/server"},
		"./run.sh --port 1":           {"./run.sh", "--port", "1"},
		"npx":                         {"npx"},
	}
	for line, want := range cases {
		f := &serverFile{File: node.File{Name: "f"}, dir: "/d"}
		m := node.Member{Name: "s", Line: 1, Value: node.Node{Kind: node.KindObject, Members: []node.Member{{Name: "command", Line: 1, Value: node.Node{Kind: node.KindString, Text: line, Line: 1}}}}}
		e, err := f.server(m, dialectOf(Project), &translator{dialect: (*translator).ours}, commonKeys())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, append([]string{e.s.Command}, e.s.Args...)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}

// TestClientCredentials reads the settings of a client that logs in without a person, from the server's own file and from mcpgen.yaml.
func TestClientCredentials(t *testing.T) {
	want := OAuth{Grant: GrantClient, ClientID: "ci", ClientSecret: "s3cret", TokenEndpoint: "https://example.com/token"}
	for _, c := range []struct{ entry, yaml string }{
		{`, "oauth": {"grant": "client_credentials", "clientId": "ci", "clientSecret": "${S}", "tokenEndpoint": "https://${H}/token"}`, ""},
		{`, "oauth": {"clientId": "other"}`, "    oauth: {grant: client_credentials, client_id: ci, client_secret: '${S}', token_endpoint: 'https://${H}/token'}\n"},
	} {
		dir := write(t, map[string]string{
			".mcp.json":   `{"mcpServers": {"x": {"type": "http", "url": "https://example.com/mcp"` + c.entry + `}}}`,
			"mcpgen.yaml": "version: 1\nservers:\n  x:\n    trusted: true\n" + c.yaml,
		})
		cfg, err := Load(filepath.Join(dir, ".mcp.json"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := cfg.Servers[0].Expand(func(name string) (string, bool) {
			value, ok := map[string]string{"S": "s3cret", "H": "example.com"}[name]
			return value, ok
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, *got.OAuth); diff != "" {
			t.Errorf("oauth (-want +got):\n%s", diff)
		}
	}
}

func TestSeveralFiles(t *testing.T) {
	dir := write(t, map[string]string{
		"a/.mcp.json":        `{"mcpServers": {"one": {"command": "first"}, "two": {"command": "first", "disabledTools": ["x"]}, "three": {"command": "c"}}}`,
		"a/mcpgen.yaml":      "version: 1\nout: tree\ndefaults: {timeout: 5s, startup_timeout: 9s}\nservers:\n  two: {exclude: [y], timeout: 7s, alias: zwei, trusted: true, protocol: legacy, pass_env: [A], env_file: x.env, oauth: {client_id: i}}\n  four: {disabled: false}\n  three: {disabled: true}\n",
		"b/.vscode/mcp.json": `{"servers": {"one": {"command": "second"}, "four": {"command": "c", "disabled": true}}}`,
		"c.toml":             "[mcp_servers.one]\ncommand = 'third'\n",
	})
	paths := []string{filepath.Join(dir, "a/.mcp.json"), filepath.Join(dir, "b/.vscode/mcp.json"), filepath.Join(dir, "c.toml")}
	cfg, err := Load(paths...)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Dir != filepath.Join(dir, "a") || cfg.Settings.Out != "tree" || cfg.Path != paths[0] {
		t.Errorf(`dir %q, out %q, path %q, want %q, "tree" and %q`, cfg.Dir, cfg.Settings.Out, cfg.Path, filepath.Join(dir, "a"), paths[0])
	}
	var got []string
	for _, s := range cfg.Servers {
		got = append(got, s.Key+" "+s.Command+" "+s.Name()+" "+s.Timeout.String()+" "+filepath.Base(s.Source)+" "+filepath.Base(s.Dir))
	}
	want := []string{"one third one 5s c.toml " + filepath.Base(dir), "two first zwei 7s .mcp.json a", "four c four 5s mcp.json b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	if len(cfg.Disabled) != 1 || cfg.Disabled[0].Key != "three" {
		t.Errorf(`disabled: %v, want len(cfg.Disabled) 1 and cfg.Disabled[0].Key "three"`, cfg.Disabled)
	}
	two, _ := cfg.Server("two")
	if !two.Trusted || two.Protocol != ProtocolLegacy || two.StartupTimeout != 9*time.Second || two.OAuth.ClientID != "i" || two.PassEnv[0] != "A" || two.EnvFile != filepath.Join(dir, "a", "x.env") || two.VarsDir != cfg.Dir {
		t.Errorf("two: %s", serverText(two))
	}
	if cfg.Allows("two", "x") || cfg.Allows("two", "y") || !cfg.Allows("two", "z") || !cfg.Allows("one", "x") {
		t.Error("the filters of file and settings must both count")
	}
	checkNotes(t, cfg.Notes, false, []string{"c.toml: server \"one\": it takes precedence over the one of that name in " + paths[1], "takes precedence over the one of that name in " + paths[0]})
	if _, err := Load(); err == nil {
		t.Error("no file is no error")
	}
	if _, err := Load(paths[0], filepath.Join(dir, "none.json")); err == nil || !os.IsNotExist(unwrapAll(err)) {
		t.Errorf("a missing second file: %v", err)
	}
}

func unwrapAll(err error) error {
	for {
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			err = e.Unwrap()
		case interface{ Unwrap() []error }:
			err = e.Unwrap()[0]
		default:
			return err
		}
		if _, ok := err.(*os.PathError); ok {
			return err
		}
	}
}

func TestAliasesMustDiffer(t *testing.T) {
	for yaml, want := range map[string]string{
		"a: {alias: b}":                  `the servers "a" and "b" have the same name "b"`,
		"a: {alias: x}\n  b: {alias: x}": `the same name "x"`,
		"a: {alias: b}\n  b: {alias: a}": "",
	} {
		dir := write(t, map[string]string{".mcp.json": `{"mcpServers": {"a": {"command": "c"}, "b": {"command": "c"}}}`, "mcpgen.yaml": "version: 1\nservers:\n  " + yaml + "\n"})
		_, err := Load(filepath.Join(dir, ".mcp.json"))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", yaml, err, want)
		}
	}
}

func TestExpandFilesAndPassedVariables(t *testing.T) {
	dir := write(t, map[string]string{"token": "from-a-file\n", "vars.env": "A=file\nB=file\nC=file\n", "home/x": "in home"})
	lookup := lookupIn(map[string]string{"A": "environment", "SET": "yes", "HOME": filepath.Join(dir, "home"), "MCPGEN_INPUT_MY_ID": "input"})
	s := Server{Key: "s", Transport: TransportStdio, Command: "c", Dir: dir, EnvFile: "vars.env", PassEnv: []string{"SET", "UNSET"},
		Args: []string{"${file:token}", "${file:~/x}", "${input:my-id}", "${:-$}{A} ${:-}"}, Env: map[string]string{"B": "own"},
		OAuth: &OAuth{ClientSecret: "${SET}"}}
	noted := map[string]string{}
	got, err := s.ExpandNoting(lookup, func(name, value string) { noted[name] = value })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"from-a-file", "in home", "input", "${A} "}, got.Args); diff != "" {
		t.Errorf("args (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"A": "environment", "B": "own", "C": "file", "SET": "yes"}, got.Env); diff != "" {
		t.Errorf("env (-want +got):\n%s", diff)
	}
	if got.OAuth.ClientSecret != "yes" || s.OAuth.ClientSecret != "${SET}" {
		t.Error(`the client's secret, want OAuth.ClientSecret "yes" and OAuth.ClientSecret "${SET}"`)
	}
	if noted["token"] != "from-a-file" || noted["C"] != "file" || noted["MCPGEN_INPUT_MY_ID"] != "input" {
		t.Errorf(`noted %v, want "from-a-file", "file" and "input"`, noted)
	}
}

// serverText returns everything in a server, which its own String does not.
func serverText(s Server) string {
	type all Server
	oauth := "none"
	if s.OAuth != nil {
		type allOAuth OAuth
		oauth = sprint(allOAuth(*s.OAuth))
	}
	s.OAuth = nil
	return sprint(all(s)) + " oauth " + oauth
}

func sprint(v any) string { return fmt.Sprintf("%+v", v) }
