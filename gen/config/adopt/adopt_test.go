package adopt

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpgen/mcpgen/gen/config"
)

const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

func stdio(key string, args ...string) config.Server {
	return config.Server{Key: key, Transport: config.TransportStdio, Command: "npx", Args: args, Source: "src", Host: config.Cursor}
}

// adopted plans the adoption of one server and returns the planned text, parsed.
func adopted(t *testing.T, s config.Server) (map[string]any, *Plan) {
	t.Helper()
	plan, err := Make([]*config.File{{Servers: []config.Server{s}}}, Options{Dir: "/home/me/shop", Home: "/home/me"})
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		Servers map[string]map[string]any `json:"mcpServers"`
	}
	if err := json.Unmarshal(plan.Config, &out); err != nil {
		t.Fatalf("%v in %s", err, plan.Config)
	}
	return out.Servers[s.Key], plan
}

func TestSecretsBecomeVariables(t *testing.T) {
	cases := []struct {
		arg, want, variable string
	}{
		{"--token=" + token, "--token=${MY_SERVER_TOKEN}", "MY_SERVER_TOKEN"},
		{"GITHUB_TOKEN=hunter2", "GITHUB_TOKEN=${GITHUB_TOKEN}", "GITHUB_TOKEN"},
		{"Authorization: Bearer " + token, "Authorization: Bearer ${MY_SERVER_TOKEN}", "MY_SERVER_TOKEN"},
		{"X-Api-Key:abcdef12", "X-Api-Key:${MY_SERVER_API_KEY}", "MY_SERVER_API_KEY"},
		{token, "${MY_SERVER_ARG}", "MY_SERVER_ARG"},
		{"postgres://app:pa55word@db/x", "postgres://app:${MY_SERVER_ARG_PASSWORD}@db/x", "MY_SERVER_ARG_PASSWORD"},
		{"https://h/mcp?api_key=abc123&x=1", "https://h/mcp?api_key=${MY_SERVER_ARG_API_KEY}&x=1", "MY_SERVER_ARG_API_KEY"},
		// and what is not a secret
		{"--max-tokens=4000", "--max-tokens=4000", ""},
		{"--auth=oauth", "--auth=oauth", ""},
		{"@modelcontextprotocol/server-filesystem@2025.8.21", "@modelcontextprotocol/server-filesystem@2025.8.21", ""},
		{"mcp-server-postgres-0.6.2-beta1", "mcp-server-postgres-0.6.2-beta1", ""},
		{"ghcr.io/x/y@sha256:4bcff63911fcb4448bd4fdacec207030997caf25e9bea4045fa6c8c44de311d1", "ghcr.io/x/y@sha256:4bcff63911fcb4448bd4fdacec207030997caf25e9bea4045fa6c8c44de311d1", ""},
		{"git+https://github.com/x/y@4bcff63911fcb4448bd4fdacec207030997caf25", "git+https://github.com/x/y@4bcff63911fcb4448bd4fdacec207030997caf25", ""},
		{"--token=${TOKEN}", "--token=${TOKEN}", "TOKEN"},
		{"--key-file=/etc/key.pem", "--key-file=/etc/key.pem", ""},
		{"/home/me/shop/data", "./data", ""},
		{"--root=/home/me/notes", "--root=${HOME}/notes", "HOME"},
		{"/home/meier/x", "/home/meier/x", ""},
		{"--port=8080", "--port=8080", ""},
	}
	for _, c := range cases {
		got, plan := adopted(t, stdio("my-server", c.arg))
		if got["args"].([]any)[0] != c.want {
			t.Errorf("%q became %v, want %q", c.arg, got["args"], c.want)
		}
		var names []string
		for _, v := range plan.Variables {
			names = append(names, v.Name)
		}
		if strings.Join(names, " ") != c.variable {
			t.Errorf("%q needs %v, want %q", c.arg, names, c.variable)
		}
		if c.want != c.arg && c.variable != "" && c.variable != "HOME" {
			if v := plan.Variables[0].Value(); v == "" || !strings.Contains(c.arg, v) {
				t.Errorf("%q: the variable's value is %q", c.arg, v)
			}
		}
	}
}

func TestSecretsInEveryPlace(t *testing.T) {
	s := config.Server{
		Key: "crm", Transport: config.TransportHTTP, URL: "https://me:pa55@h.example/v1/" + token + "/mcp?key=k1234567&page=2",
		Headers: map[string]string{"Authorization": "Basic " + token, "X-API-Key": "short", "Accept": "text/plain", "X-Trace": "${TRACE}"},
		OAuth:   &config.OAuth{ClientID: "public", ClientSecret: "hidden"},
	}
	got, plan := adopted(t, s)
	want := map[string]any{"type": "http",
		"url":     "https://me:${CRM_PASSWORD}@h.example/v1/${CRM_URL_TOKEN}/mcp?key=${CRM_KEY}&page=2",
		"headers": map[string]any{"Authorization": "Basic ${CRM_TOKEN}", "X-API-Key": "${CRM_API_KEY}", "Accept": "text/plain", "X-Trace": "${TRACE}"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := string(plan.Settings); !strings.Contains(text, `client_secret: ${CRM_CLIENT_SECRET}`) || !strings.Contains(text, `client_id: public`) {
		t.Errorf("settings, want %q in it and %q in it:\n%s", `client_secret: ${CRM_CLIENT_SECRET}`, `client_id: public`, text)
	}
	for _, secret := range []string{token, "pa55", "k1234567", "short", "hidden"} {
		if all := string(plan.Config) + string(plan.Settings) + fmt.Sprint(plan.Variables) + fmt.Sprintf("%v %+v %#v", plan, plan, plan.Variables); strings.Contains(all, secret) {
			t.Errorf("%q is shown or written", secret)
		}
	}
	env := stdio("db")
	env.Env = map[string]string{"DB_PASSWORD": "x!y", "DATABASE_URL": "postgres://u:pw@h/d", "DEBUG": "1", "KEY_FILE": "/home/me/k.pem", "COUNT": "100000", "SESSION_MODE": "fast", "LITERAL": "${:-$}{A}"}
	got, _ = adopted(t, env)
	if diff := cmp.Diff(map[string]any{"DB_PASSWORD": "${DB_PASSWORD}", "DATABASE_URL": "${DATABASE_URL}", "DEBUG": "1", "KEY_FILE": "${HOME}/k.pem", "COUNT": "100000", "SESSION_MODE": "fast", "LITERAL": "${:-$}{A}"}, got["env"]); diff != "" {
		t.Errorf("env (-want +got):\n%s", diff)
	}
}

func TestOneNameOneValue(t *testing.T) {
	a, b, c, d := stdio("a"), stdio("b"), stdio("c"), stdio("d")
	a.Env, b.Env, c.Env = map[string]string{"API_KEY": "first-1"}, map[string]string{"API_KEY": "second-2"}, map[string]string{"API_KEY": "first-1"}
	d.Env = map[string]string{"API_KEY": "${API_KEY}"}
	plan, err := Make([]*config.File{{Servers: []config.Server{d, a, b, c}}}, Options{Dir: "/p"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range plan.Variables {
		got = append(got, v.Server+" "+v.Name+" "+v.Value())
	}
	if diff := cmp.Diff([]string{"d API_KEY ", "a A_API_KEY first-1", "b B_API_KEY second-2", "c C_API_KEY first-1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMerge(t *testing.T) {
	const before = "{\n  // ours\n  \"mcpServers\": {\n      \"mine\": { \"command\": \"keep\" }, // this one\n      \"both\": {\"command\": \"old\"},\n  },\n  \"other\": 1\n}\n"
	files := []*config.File{
		{Servers: []config.Server{stdio("both", "new"), stdio("fresh")}},
		{Servers: []config.Server{stdio("fresh", "second"), {Key: "off", Disabled: true, Source: "src"}}},
	}
	plan, err := Make(files, Options{Dir: "/p", Config: []byte(before)})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(before, `{"command": "old"}`, "{\"command\": \"old\"},\n      \"fresh\": {\n        \"command\": \"npx\"\n      }", 1)
	if diff := cmp.Diff(want, string(plan.Config)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var got []string
	for _, o := range plan.Outcomes {
		got = append(got, o.Key+" "+string(o.Action))
	}
	if diff := cmp.Diff([]string{"both kept", "fresh added", "fresh left out", "off left out"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	plan, err = Make(files, Options{Dir: "/p", Config: []byte(before), Force: true})
	if err != nil || !strings.Contains(string(plan.Config), "\"both\": {\n        \"command\": \"npx\",\n        \"args\": [\n          \"new\"\n        ]\n      },\n") || plan.Outcomes[0].Action != Replaced {
		t.Errorf("with force: %v\n%s", err, plan.Config)
	}
	plan, err = Make(files[:1], Options{Dir: "/p", Config: []byte(`{"mcpServers": {"both": 1, "fresh": 2}}`)})
	if err != nil || plan.Config != nil || plan.Settings != nil {
		t.Errorf("nothing to add: %v %s, want nil, Settings nil and no error", err, plan.Config)
	}
	if _, err = Make(files, Options{Dir: "/p", Config: []byte(`{"mcpServers": 1}`)}); err == nil {
		t.Error("a damaged .mcp.json was changed: got no error, want an error")
	}
}

func TestSettingsMerge(t *testing.T) {
	s := stdio("new")
	s.Include, s.Timeout, s.StartupTimeout, s.Trusted, s.PassEnv, s.EnvFile = []string{"a"}, time.Minute, 2*time.Second, true, []string{"X"}, "/p/.env.local"
	lines := "    include: [a]\n    timeout: 1m0s\n    startup_timeout: 2s\n    pass_env: [X]\n    env_file: ./.env.local\n    trusted: true\n"
	deeper := strings.ReplaceAll("  new:\n"+lines, "  ", "    ")
	deeper = strings.ReplaceAll(deeper, "        ", "      ")
	for before, want := range map[string]string{
		"version: 1\n":                          "version: 1\n\nservers:\n  new:\n" + lines,
		"version: 1\nservers:\nout: x\n":        "version: 1\nservers:\n  new:\n" + lines + "out: x\n",
		"version: 1\nservers:\n  # c\n  old:\n": "version: 1\nservers:\n  # c\n  new:\n" + lines + "  old:\n",
		"version: 1\nservers:\n    old:\n":      "version: 1\nservers:\n" + deeper + "    old:\n",
		"version: 1":                            "version: 1\n\nservers:\n  new:\n" + lines,
	} {
		plan, err := Make([]*config.File{{Servers: []config.Server{s}}}, Options{Dir: "/p", Settings: []byte(before)})
		if err != nil {
			t.Errorf("%q: %v", before, err)
			continue
		}
		if diff := cmp.Diff(want, string(plan.Settings)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", before, diff)
		}
	}
	plan, err := Make([]*config.File{{Servers: []config.Server{s}}}, Options{Dir: "/p", Settings: []byte("version: 1\nservers:\n  new: {}\n")})
	if err != nil || plan.Settings != nil || !strings.Contains(plan.Outcomes[0].Why, "stays") {
		t.Errorf(`settings that are there: %v, %s, want nil, "stays" in it and no error`, err, plan.Settings)
	}
	if _, err = Make([]*config.File{{Servers: []config.Server{s}}}, Options{Dir: "/p", Settings: []byte("version: 1\nservers: {old: {}}\n")}); err == nil || !strings.Contains(err.Error(), "mcpgen.yaml:2: servers: it does not have one server to a line") {
		t.Errorf(`servers on one line: %v, want an error and "mcpgen.yaml:2: servers: it does not have one server to a line" in it`, err)
	}
}

// TestAdoptedServersAreTheSame adopts the servers of each host, reads back the result, and connects to none. Expanded with the same
// variables, the old and the new server must be the same.
func TestAdoptedServersAreTheSame(t *testing.T) {
	fixtures := filepath.Join("..", "testdata", "hosts")
	for name, host := range map[string]config.Host{
		".claude.json": config.ClaudeCode, "claude_desktop_config.json": config.ClaudeDesktop, ".cursor/mcp.json": config.Cursor, ".vscode/mcp.json": config.VSCode,
		"mcp_config.json": config.Windsurf, ".codex/config.toml": config.Codex, ".gemini/settings.json": config.Gemini, ".zed/settings.json": config.Zed,
	} {
		dir := t.TempDir()
		f, err := config.ReadFile(filepath.Join(fixtures, name), &config.ReadOptions{Host: host, Project: dir})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := Make([]*config.File{f}, Options{Dir: dir, Home: "/home/me"})
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, config.FileName), plan.Config)
		if plan.Settings != nil {
			write(t, filepath.Join(dir, config.SettingsName), plan.Settings)
		}
		write(t, filepath.Join(dir, ".env"), []byte("FROM=file\n"))
		write(t, filepath.Join(dir, ".env.local"), nil)
		cfg, err := config.Load(filepath.Join(dir, config.FileName))
		if err != nil {
			t.Fatalf("%s: %v\n%s\n%s", host, err, plan.Config, plan.Settings)
		}
		values := map[string]string{}
		for _, v := range plan.Variables {
			values[v.Name] = v.Value()
			if v.Value() == "" {
				values[v.Name] = "value-of-" + v.Name
			}
		}
		values["HOME"], values["DOCS_TOKEN"] = "/home/me", "passed on"
		lookup := func(name string) (string, bool) {
			v, ok := values[name]
			return v, ok
		}
		want := 0
		for _, before := range f.Servers {
			after, ok := cfg.Server(before.Key)
			if before.Disabled {
				if ok {
					t.Errorf("%s: %q was disabled", host, before.Key)
				}
				continue
			}
			want++
			if _, err := os.Stat("/run/secrets/figma"); host == config.Windsurf && before.Key == "figma" && err != nil {
				continue // the files that it reads are not on this machine
			}
			if a, b := expanded(t, before, lookup), expanded(t, after, lookup); a != b {
				t.Errorf("%s: before %s\nafter  %s", host, a, b)
			}
			filter := config.ServerSettings{Include: before.Include, Exclude: before.Exclude}
			for _, tool := range []string{"search", "read", "run", "safe_tool", "delete_file", "other"} {
				if cfg.Allows(before.Key, tool) != filter.Allows(tool) {
					t.Errorf("%s: %q lets %q through, or not", host, before.Key, tool)
				}
			}
		}
		if len(cfg.Servers) != want {
			t.Errorf("%s: %d servers, want %d", host, len(cfg.Servers), want)
		}
	}
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// expanded returns the values with which a connection would be made.
func expanded(t *testing.T, s config.Server, lookup config.Lookup) string {
	t.Helper()
	e, err := s.Expand(lookup)
	if err != nil {
		t.Fatalf("%s: %v", s.Key, err)
	}
	args := make([]string, len(e.Args))
	for i, a := range e.Args {
		args[i] = strings.ReplaceAll(a, s.Dir, ".")
	}
	oauth := ""
	if e.OAuth != nil {
		type all config.OAuth
		oauth = fmt.Sprintf("%+v", all(*e.OAuth))
	}
	env, _ := json.Marshal(e.Env)
	headers, _ := json.Marshal(e.Headers)
	return fmt.Sprint(e.Key, e.Transport, filepath.Clean(e.Command), args, string(env), filepath.Clean(e.Cwd), e.URL, string(headers), e.Timeout, e.StartupTimeout, e.Trusted, oauth)
}
