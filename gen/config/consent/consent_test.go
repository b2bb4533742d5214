package consent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/config"
)

// project writes a project's files and loads its configuration.
func project(t *testing.T, dir string, files map[string]string) *config.Config {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load(filepath.Join(dir, config.FileName))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func itemsOf(t *testing.T, cfg *config.Config) []Item {
	t.Helper()
	items, err := List(cfg, func(name string) (string, bool) { return "/home/ann", name == "HOME" })
	if err != nil {
		t.Fatal(err)
	}
	return items
}

// TestEverythingThatDecides changes a project that was agreed to in one way after another. Each relevant change is noticed, and no other.
func TestEverythingThatDecides(t *testing.T) {
	const (
		servers = `{"mcpServers": {
			"files": {"command": "${TOOL}", "args": ["a b", "c"], "env": {"KEY": "${KEY}"}, "envFile": "own.env"},
			"web": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}}}`
		settings = `version: 1
servers: {files: {include: ["get_*"], timeout: 5s}}
policy:
  rules:
    - deny: files__delete
    - {allow: files__get, when: "args.path == 'a'"}
run: {sandbox: embedded}
`
		dotenv = "TOOL=tool\nKEY=k\nTOKEN=t\nUNUSED=u\n"
	)
	for _, c := range []struct {
		name, file, from, to string
		want                 []string // names of items; empty if nothing has changed
	}{
		{"nothing", config.FileName, "", "", nil},
		{"an argument", config.FileName, `"a b"`, `"a", "b"`, []string{`~server "files": command`}},
		{"a variable that carries code", config.FileName, `"KEY": "${KEY}"`, `"KEY": "${KEY}", "NODE_OPTIONS": "--require ./x.js"`, []string{`+server "files": env.NODE_OPTIONS`}},
		{"an address", config.FileName, "example.com", "example.org", []string{`~server "web": url`}},
		{"a header", config.FileName, "Bearer ${TOKEN}", "Bearer ${KEY}", []string{`~server "web": headers.Authorization`}},
		{"a new server", config.FileName, `"web": {`, `"more": {"command": "sh"}, "web": {`, []string{`+server "more": command`}},
		{"the value of a command's variable", config.DotEnvName, "TOOL=tool", "TOOL=other", []string{`~server "files": value of TOOL`}},
		{"a file of variables", "own.env", "A=1", "A=1\nNODE_OPTIONS=x", []string{`+server "files": value of NODE_OPTIONS`}},
		{"a token that only goes to its server", config.DotEnvName, "TOKEN=t", "TOKEN=new", nil},
		{"a variable that nothing uses", config.DotEnvName, "UNUSED=u", "UNUSED=v", nil},
		{"a rule less", config.SettingsName, "    - deny: files__delete\n", "", []string{"-mcpgen.yaml: policy.rules"}},
		{"the order of rules", config.SettingsName, "    - deny: files__delete\n    - {allow: files__get, when: \"args.path == 'a'\"}\n",
			"    - {allow: files__get, when: \"args.path == 'a'\"}\n    - deny: files__delete\n", nil},
		{"a condition", config.SettingsName, "== 'a'", "!= ''", []string{"~mcpgen.yaml: policy.rules"}},
		{"a program that approves", config.SettingsName, "run: {", "run: {approve_command: ./yes, ", []string{"+mcpgen.yaml: run.approve_command"}},
		{"an endpoint that gets a key", config.SettingsName, "run: {", "search: {embeddings: {url: \"https://example.org\", model: m, key_env: HOME}}\nrun: {",
			[]string{"+mcpgen.yaml: search.embeddings.key_env", "+mcpgen.yaml: search.embeddings.model", "+mcpgen.yaml: search.embeddings.url"}},
		{"a model that gets a key", config.SettingsName, "run: {", "model: {provider: azure, url: \"https://example.org\", key: {command: [a, b]}}\nrun: {",
			[]string{"+mcpgen.yaml: model.key.command", "+mcpgen.yaml: model.provider", "+mcpgen.yaml: model.url"}},
		{"a model of variables", config.DotEnvName, "UNUSED=u", "AZURE_OPENAI_ENDPOINT=https://example.org\nANTHROPIC_BASE_URL=https://example.org\nMCPRUN_MODEL=openai/x\nOPENAI_API_KEY=k",
			[]string{"+.env: ANTHROPIC_BASE_URL", "+.env: AZURE_OPENAI_ENDPOINT", "+.env: MCPRUN_MODEL", "+.env: OPENAI_API_KEY"}},
		{"packages to install", config.SettingsName, "run: {", "run: {packages: {python: r.txt, preload: [a]}, ", []string{"+mcpgen.yaml: run.packages.preload", "+mcpgen.yaml: run.packages.python"}},
		{"schedules", config.SettingsName, "run: {", "schedules: {nightly: {cron: '@daily', script: a.ts}}\nrun: {", []string{"+mcpgen.yaml: schedules.nightly.cron", "+mcpgen.yaml: schedules.nightly.script"}},
		{"personal data", config.SettingsName, "run: {", "pii: {mode: off, detector: {url: \"https://example.org\"}}\nrun: {", []string{"+mcpgen.yaml: pii.detector.url", "+mcpgen.yaml: pii.mode"}},
		{"a filter", config.SettingsName, `["get_*"]`, `["*"]`, []string{"~mcpgen.yaml: servers.files.include"}},
		{"trust in a server", config.SettingsName, "timeout: 5s", "trusted: true", []string{"+mcpgen.yaml: servers.files.trusted"}},
		{"a folder out of the project", config.SettingsName, "version: 1\n", "version: 1\nout: ../elsewhere\n", []string{"+mcpgen.yaml: out"}},
		{"a time-out and a comment", config.SettingsName, "timeout: 5s}}", "timeout: 9s}} # slow", nil},
		{"a setting of mcprun", config.DotEnvName, "UNUSED=u", "MCPRUN_SANDBOX=process", []string{"+.env: MCPRUN_SANDBOX"}},
		{"where telemetry goes", config.DotEnvName, "UNUSED=u", "OTEL_EXPORTER_OTLP_ENDPOINT=https://example.org", []string{"+.env: OTEL_EXPORTER_OTLP_ENDPOINT"}},
		{"a file of messages", config.DotEnvName, "UNUSED=u", "LOG_FILE=../x", []string{"+.env: LOG_FILE"}},
		{"how much is said", config.DotEnvName, "UNUSED=u", "LOG_LEVEL=debug", nil},
		{"variables that are not read from it", config.DotEnvName, "UNUSED=u", "MCPGEN_TRUST=1\nMCPGEN_CONFIG=x\nXDG_STATE_HOME=x\nMCPRUN_NETWORK_CONNECT_TO=a:1:b:2", nil},
		{"a type checker of the project", "node_modules/.bin/tsc", "", "#!/bin/sh\n", []string{"+type checks: program"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			files := map[string]string{config.FileName: servers, config.SettingsName: settings, config.DotEnvName: dotenv, "own.env": "A=1\n"}
			cfg := project(t, dir, files)
			store := Open(filepath.Join(t.TempDir(), "trust"))
			if first, err := store.Compare(cfg, itemsOf(t, cfg)); err != nil || !first.First || first.None() {
				t.Fatalf("Compare() before = %+v, %v", first, err)
			}
			if err := store.Agree(cfg, itemsOf(t, cfg)); err != nil {
				t.Fatal(err)
			}
			if c.from != "" && !strings.Contains(files[c.file], c.from) {
				t.Fatalf("%s has no %q", c.file, c.from)
			}
			text := c.to
			if c.from != "" {
				text = strings.Replace(files[c.file], c.from, c.to, 1)
			}
			if text != "" {
				cfg = project(t, dir, map[string]string{c.file: text})
			}
			change, err := store.Compare(cfg, itemsOf(t, cfg))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, i := range change.Changed {
				got = append(got, "~"+i.name())
			}
			for _, i := range change.Added {
				got = append(got, "+"+i.name())
			}
			for _, gone := range change.Removed {
				got = append(got, "-"+gone.Name)
			}
			if change.First || !slices.Equal(got, c.want) || change.None() != (len(c.want) == 0) {
				t.Errorf("changes %q, want %q", got, c.want)
			}
		})
	}
}

// TestFormerRules checks that a change shows the previous rules of a policy.
func TestFormerRules(t *testing.T) {
	const before = `version: 1
policy:
  default: deny
  rules:
    - {name: reads, allow: "*", hint: reads}
    - {deny: files__delete}
    - {ask: "files__*", when: args.size > 5}
  customers: {ann: {level: read_only}}
`
	for _, c := range []struct {
		name, from, to string
		want           []string
	}{
		{"one is gone", "    - {deny: files__delete}\n", "", []string{`-policy.rules {"deny":"files__delete"}`}},
		{"one is gone and one changed", "    - {deny: files__delete}\n    - {ask: \"files__*\", when: args.size > 5}\n", "    - {ask: \"files__*\", when: args.size > 500}\n",
			[]string{`~policy.rules {"ask":"files__*","when":"args.size > 5"}`, `-policy.rules {"deny":"files__delete"}`}},
		{"one has another effect", "deny: files__delete", "allow: files__delete", []string{`~policy.rules {"deny":"files__delete"}`}},
		{"one of a name", `allow: "*", hint: reads`, `allow: "*"`, []string{`~policy.rules {"allow":"*","hint":"reads","name":"reads"}`}},
		{"two are others", "    - {deny: files__delete}\n    - {ask: \"files__*\", when: args.size > 5}\n", "    - {allow: mail__send}\n    - {allow: mail__read}\n",
			[]string{`+policy.rules {"allow":"mail__send"}`, `+policy.rules {"allow":"mail__read"}`, `-policy.rules {"deny":"files__delete"}`, `-policy.rules {"ask":"files__*","when":"args.size > 5"}`}},
		{"a default", "default: deny", "default: ask", []string{"~policy.default deny"}},
		{"a customer", "  customers: {ann: {level: read_only}}\n", "", []string{"-policy.customers.ann.level read_only"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			cfg := project(t, dir, map[string]string{config.FileName: `{"mcpServers": {"x": {"command": "tool"}}}`, config.SettingsName: before})
			store := Open(filepath.Join(t.TempDir(), "trust"))
			if err := store.Agree(cfg, itemsOf(t, cfg)); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(before, c.from) {
				t.Fatalf("the policy has no %q", c.from)
			}
			cfg = project(t, dir, map[string]string{config.SettingsName: strings.Replace(before, c.from, c.to, 1)})
			change, err := store.Compare(cfg, itemsOf(t, cfg))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, i := range change.Changed {
				got = append(got, "~"+i.Key+" "+i.Was)
			}
			for _, i := range change.Added {
				got = append(got, "+"+i.Key+" "+i.Value)
			}
			for _, gone := range change.Removed {
				got = append(got, "-"+strings.TrimPrefix(gone.Name, "mcpgen.yaml: ")+" "+gone.Was)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("changes %q, want %q", got, c.want)
			}
		})
	}
}

func TestStoreHoldsNoValues(t *testing.T) {
	cfg := project(t, t.TempDir(), map[string]string{config.FileName: `{"mcpServers": {
		"x": {"command": "tool", "args": ["--key=secret-value"], "env": {"KEY": "secret-value"}}, "y": {"url": "https://secret-value@example.com", "headers": {"Authorization": "secret-value"}}}}`,
		config.SettingsName: "version: 1\nsearch: {embeddings: {url: \"https://secret-value@example.com\", model: m}}\npolicy: {default: deny}\n"})
	dir := filepath.Join(t.TempDir(), "trust")
	store := Open(dir)
	if err := store.Agree(cfg, itemsOf(t, cfg)); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, %v, want 1 and no error", len(files), err)
	}
	text, err := os.ReadFile(filepath.Join(dir, files[0].Name()))
	if err != nil || strings.Contains(string(text), "secret-value") || !strings.Contains(string(text), "policy.default") {
		t.Errorf(`the store holds %s, %v, want no "secret-value" in it, "policy.default" in it and no error`, text, err)
	}
	if info, err := files[0].Info(); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("mode %v, %v; want nothing for others", info.Mode(), err)
	}
	for range 2 {
		had, err := store.Forget(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if change, err := store.Compare(cfg, itemsOf(t, cfg)); err != nil || !change.First {
			t.Errorf("after Forget() = %v: %+v, %v", had, change, err)
		}
	}
}

// TestOtherProject: consent given for a folder does not apply to a copy of it.
func TestOtherProject(t *testing.T) {
	files := map[string]string{config.FileName: `{"mcpServers": {"x": {"command": "./run.sh"}}}`}
	one, other := project(t, t.TempDir(), files), project(t, t.TempDir(), files)
	store := Open(filepath.Join(t.TempDir(), "trust"))
	if err := store.Agree(one, itemsOf(t, one)); err != nil {
		t.Fatal(err)
	}
	if change, err := store.Compare(other, itemsOf(t, other)); err != nil || !change.First {
		t.Errorf("Compare() of a copy = %+v, %v", change, err)
	}
}

func TestNothingToAgreeTo(t *testing.T) {
	cfg := project(t, t.TempDir(), map[string]string{config.FileName: `{"mcpServers": {"off": {"command": "sh", "disabled": true}}}`, config.SettingsName: config.StarterSettings})
	if items := itemsOf(t, cfg); len(items) != 0 {
		t.Errorf("List() = %+v, want none", items)
	}
}

func TestReach(t *testing.T) {
	for _, c := range []struct {
		server string
		want   string // what the warning names; empty if there is none
	}{
		{`{"command": "npx", "args": ["-y", "server-filesystem", "."]}`, "an argument"},
		{`{"command": "npx", "args": ["-y", "server-filesystem", "./data"]}`, ""},
		{`{"command": "npx", "args": ["-y", "server-filesystem", "DIR"]}`, "an argument"},
		{`{"command": "npx", "args": ["-y", "server-filesystem", "DIR/.."]}`, "an argument"},
		{`{"command": "npx", "args": ["--root=DIR"]}`, "an argument"},
		{`{"command": "npx", "args": ["${ROOT}"]}`, "an argument"},
		{`{"command": "docker", "args": ["run", "-v", "DIR:/project", "image"]}`, "an argument"},
		{`{"command": "edit", "args": ["./mcpgen.yaml"]}`, "an argument"},
		{`{"command": "edit", "cwd": "DIR"}`, "its working directory"},
		{`{"command": "edit", "cwd": "data", "args": [".."]}`, "an argument"},
		{`{"command": "edit", "cwd": "data", "args": ["."]}`, ""},
		{`{"command": "edit"}`, ""},
		{`{"url": "https://example.com"}`, ""},
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "data"), 0o755); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf(`{"mcpServers": {"x": %s}}`, strings.ReplaceAll(c.server, "DIR", filepath.ToSlash(dir)))
		cfg := project(t, dir, map[string]string{config.FileName: text, config.SettingsName: "version: 1\n", config.DotEnvName: "ROOT=.\n"})
		notes := Reach(cfg, nil)
		if c.want == "" && len(notes) > 0 || c.want != "" && (len(notes) != 1 || !strings.HasPrefix(notes[0].Message, c.want)) {
			t.Errorf("Reach() of %s = %v, want %q", c.server, notes, c.want)
		}
	}
}

// TestPluginContents: a plugin whose file has changed needs consent again, and one outside the project only counts by its name.
func TestPluginContents(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "shared.py")
	if err := os.WriteFile(outside, []byte("print(1)"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "plugins"), 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{config.FileName: `{"mcpServers": {}}`, "plugins/limit.py": "print(1)", "plugins/long.py": "print(1)",
		config.SettingsName: fmt.Sprintf("version: 1\nplugins: [plugins/limit.py, {run: [python3, plugins/long.py]}, %q]\n", filepath.ToSlash(outside))}
	cfg := project(t, dir, files)
	store := Open(filepath.Join(t.TempDir(), "trust"))
	if err := store.Agree(cfg, itemsOf(t, cfg)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"plugins/limit.py": "import os", "plugins/long.py": "import os"} {
		cfg = project(t, dir, map[string]string{name: text})
		change, err := store.Compare(cfg, itemsOf(t, cfg))
		if err != nil || len(change.Changed) != 1 || change.Changed[0].Key != "content of "+name {
			t.Errorf("Compare() with another %s = %+v, %v, want that its content has changed", name, change, err)
		}
		project(t, dir, map[string]string{name: "print(1)"})
	}
	if err := os.WriteFile(outside, []byte("import os"), 0o600); err != nil {
		t.Fatal(err)
	}
	if change, err := store.Compare(cfg, itemsOf(t, cfg)); err != nil || !change.None() {
		t.Errorf("Compare() with another file outside the project = %+v, %v, want no change", change, err)
	}
}
