package config

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func loadWith(t *testing.T, yaml string) (*Config, error) {
	t.Helper()
	dir := write(t, map[string]string{".mcp.json": `{"mcpServers": {"git hub": {"command": "c"}, "crm": {"command": "c"}}}`, "mcpgen.yaml": yaml})
	return Load(filepath.Join(dir, ".mcp.json"))
}

func TestSettings(t *testing.T) {
	cfg, err := loadWith(t, "# ours\nversion: 1\nlanguages: [python]\nout: gen/tree\nservers:\n  git hub:\n    include: [\"get_*\", list]\n    exclude: ['*_secret']\n    timeout: 1m30s\n  crm:\n")
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{Path: cfg.Settings.Path, Languages: []Language{Python}, Out: "gen/tree", Servers: map[string]ServerSettings{
		"git hub": {Include: []string{"get_*", "list"}, Exclude: []string{"*_secret"}, Timeout: 90 * time.Second},
		"crm":     {},
	}}
	if diff := cmp.Diff(want, cfg.Settings, cmpopts.IgnoreUnexported(Settings{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if cfg, err = loadWith(t, "version: 1\n"); err != nil {
		t.Fatal(err)
	}
	want = defaultSettings()
	want.Path = cfg.Settings.Path
	if diff := cmp.Diff(want, cfg.Settings, cmpopts.IgnoreUnexported(Settings{})); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestNetworkMistakes(t *testing.T) {
	for network, want := range map[string]string{
		`{allow: [{host: "*", tls: inspect, credentials: [{secret: "${T}", basic: ann}]}]}`:             "mcpgen.yaml:2:19: network.allow[0]: credentials would be sent to every host",
		`{allow: [{host: "*.example.com", tls: inspect, credentials: [{secret: "${T}", basic: ann}]}]}`: "",
		`{bytes: much}`: `mcpgen.yaml:2: network.bytes: "much" is not a size`,
		`{alerts: {command: [a], volume: 5 elephants}}`:    `network.alerts.volume: "5 elephants" is not a size`,
		`{bytes: 2GiB, alerts: {command: [a], volume: 0}}`: "",
	} {
		_, err := loadWith(t, "version: 1\nnetwork: "+network+"\n")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", network, err, want)
		}
	}
}

func TestSearchSettings(t *testing.T) {
	cfg, err := loadWith(t, "version: 1\nservers: {crm: {category: sales}, git hub: }\nsearch:\n  embeddings:\n    url: https://a.example\n    model: m\n    api: azure\n    api_version: '9'\n    key_env: A_KEY\n    dimensions: 5\n    timeout: 3s\n")
	if err != nil {
		t.Fatal(err)
	}
	want := &EmbeddingSettings{URL: "https://a.example", Model: "m", API: "azure", APIVersion: "9", KeyEnv: "A_KEY", Dimensions: 5, Timeout: 3 * time.Second}
	if diff := cmp.Diff(want, cfg.Settings.Search.Embeddings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := cfg.Settings.Servers["crm"].Category; got != "sales" {
		t.Errorf("category %q, want sales", got)
	}
	for yaml, want := range map[string]string{
		"search: {embeddings: {model: m}}":                                   "mcpgen.yaml:2: search.embeddings.url: it is missing",
		"search: {embeddings: {url: 'https://x'}}":                           "search.embeddings.model: it is missing",
		"search: {embeddings: {url: ssh://x, model: m}}":                     "not an http or https address",
		"search: {embeddings: {url: 'https://x', model: m, key: sk-1}}":      `the key "key" is not known`,
		"search: {embeddings: {url: 'https://x', model: m, key_env: sk-1a}}": "never the key itself",
	} {
		if _, err := loadWith(t, "version: 1\n"+yaml); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sk-1") {
			t.Errorf("%s: %v, want %q", yaml, err, want)
		}
	}
}

func TestUseCases(t *testing.T) {
	cfg, err := loadWith(t, "version: 1\ncategories: {sales: Deals and contacts, git hub: Code}\nservers:\n  crm: {category: sales, use_cases: {add: [new deal], '*': [selling]}}\n  git hub: {use_cases: [reviews, releases]}\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"sales": "Deals and contacts", "git hub": "Code"}, cfg.Settings.Categories); diff != "" {
		t.Errorf("categories (-want +got):\n%s", diff)
	}
	want := map[string]UseCases{"crm": {"add": {"new deal"}, AllTools: {"selling"}}, "git hub": {AllTools: {"reviews", "releases"}}}
	for name, want := range want {
		if diff := cmp.Diff(want, cfg.Settings.Servers[name].UseCases); diff != "" {
			t.Errorf("use cases of %s (-want +got):\n%s", name, diff)
		}
	}
	for yaml, want := range map[string]string{
		"categories: {sale: Deals}\nservers: {crm: {category: sales}}": "mcpgen.yaml:2: categories.sale: no server has this category; give it to a server",
		"categories: {crm: Deals}\nservers: {crm: {category: sales}}":  "categories.crm: no server has this category",
		"categories: [a]":                              "categories: it is a list, not a mapping",
		"servers: {crm: {use_cases: new deal}}":        "servers.crm.use_cases: it is a text, not a list",
		"servers: {crm: {use_cases: {add: new deal}}}": "servers.crm.use_cases.add: it is a text, not a list",
		"servers: {crm: {use_cases: ['']}}":            "servers.crm.use_cases[0]: it is empty",
	} {
		if _, err := loadWith(t, "version: 1\n"+yaml); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", yaml, err, want)
		}
	}
}

func TestSettingsErrors(t *testing.T) {
	cases := map[string]string{
		"":                                                    "mcpgen.yaml:1: version: it is missing; write version: 1",
		"languages: [python]":                                 "version: it is missing",
		"version: 1\nconfig: [a]":                             "mcpgen.yaml:2: config: it is a list, not a text",
		"version: 2":                                          "mcpgen.yaml:1: version: only version 1 is known",
		"version: \"1\"":                                      "only version 1 is known",
		"version: 1\noutput: x":                               `mcpgen.yaml:2: the key "output" is not known; known here: audit, cache, categories, config, defaults, guardrails, languages, learn, model, name, network, out, pii, plugins, policy, run, schedules, search, servers, version`,
		"version: 1\nversion: 1":                              "mcpgen.yaml:2: ",
		"version: 1\n\tout: x":                                "mcpgen.yaml:2: ",
		"- a":                                                 "mcpgen.yaml:1: ",
		"version: 1\n---\nversion: 1":                         "more than one document",
		"version: 1\nlanguages: [go]":                         `mcpgen.yaml:2: languages[0]: "go" is not known; write one of typescript, python`,
		"version: 1\nlanguages: []":                           "the list is empty",
		"version: 1\nlanguages: python":                       "languages: it is a text, not a list; write a list",
		"version: 1\nlanguages: [python,python]":              "is there twice",
		"version: 1\nout: [a]":                                "out: it is a list, not a text",
		"version: 1\nout: ''":                                 "out: it is empty",
		"version: 1\nservers: [a]":                            "servers: it is a list, not a mapping",
		"version: 1\nservers:\n  nobody: {}":                  "mcpgen.yaml:3: servers.nobody: no such server is configured",
		"version: 1\nservers:\n  crm: {}\n  crm: {}":          "mcpgen.yaml:4: ",
		"version: 1\nservers:\n  crm:\n    inclde: [a]":       `mcpgen.yaml:4: servers.crm: the key "inclde" is not known; did you mean include?`,
		"version: 1\nservers:\n  crm:\n    timeout: soon":     "mcpgen.yaml:4: servers.crm.timeout: it is not a time; write it as 30s",
		"version: 1\nservers:\n  crm:\n    timeout: -3s":      "it is not a time",
		"version: 1\nservers:\n  crm:\n    timeout: 30":       "it is not a time",
		"version: 1\nservers:\n  crm:\n    include: x":        "mcpgen.yaml:4: ",
		"version: 1\nservers:\n  crm:\n    include: ['']":     "servers.crm.include[0]: it is empty",
		"version: 1\nservers:\n  crm:\n    allow_text: order": "mcpgen.yaml:4: servers.crm.allow_text: it is a text, not a list",
		"version: 1\nservers:\n  crm:\n    allow_text:\n    - bidi\n    - bdi": `mcpgen.yaml:6: servers.crm.allow_text[1]: "bdi" is not known; write one of override, `,
		"version: 1\nrun:\n  packages: {python: [a]}":                          "mcpgen.yaml:3: run.packages.python: it is a list, not a text",
		"version: 1\nrun:\n  packages: {ruby: Gemfile}":                        `mcpgen.yaml:3: run.packages: the key "ruby" is not known; known here: javascript, preload, python`,
		"version: 1\nrun:\n  packages: {preload: [\"import x\"]}":              "run.packages.preload[0]: it does not name a module; write the name as in an import",
		"version: 1\nrun:\n  packages: {preload: [pandas]}":                    "mcpgen.yaml:3: run.packages.preload: it has no effect without packages of Python; name them",
		"version: 1\nservers:\n  crm: 3":                                       "mcpgen.yaml:3: ",
	}
	for yaml, want := range cases {
		_, err := loadWith(t, yaml)
		var e *FileError
		if !errors.As(err, &e) || e.Remedy == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", yaml, err, want)
		}
	}
}

func TestAllows(t *testing.T) {
	s := ServerSettings{Include: []string{"get_*", "a?c", "x*y*z"}, Exclude: []string{"*secret*"}}
	for tool, want := range map[string]bool{
		"get_": true, "get_a/b": true, "GET_a": false, "abc": true, "aéc": true, "ac": false, "xyz": true, "x1y2y3z": true, "x1z": false,
		"get_secret": false, "get_/secret/x": false, "other": false, "": false,
	} {
		if got := s.Allows(tool); got != want {
			t.Errorf("Allows(%q) = %t, want %t", tool, got, want)
		}
	}
	if !(ServerSettings{}).Allows("anything") || (ServerSettings{Exclude: []string{"*"}}).Allows("a") {
		t.Error("the zero value, or an exclude alone")
	}
	// A pattern that would take for ever by backtracking.
	if (ServerSettings{Include: []string{strings.Repeat("*a", 50) + "b"}}).Allows(strings.Repeat("a", 5000)) {
		t.Error("it matches")
	}
}

// TestRunSettings: values are as on the command line, and paths start at the file's folder.
func TestRunSettings(t *testing.T) {
	dir := t.TempDir()
	text := "version: 1\nrun:\n  memory: 512\n  allow_drift: false\n  skills: s\n  tsc: bin/tsc\n  pyright: pyright\n  elicit: a.json\n  workspace: /w\n"
	got, err := parseSettings(filepath.Join(dir, SettingsName), []byte(text), nil)
	want := RunSettings{
		"memory": {Value: "512", Line: 3}, "allow_drift": {Value: "false", Line: 4}, "skills": {Value: filepath.Join(dir, "s"), Line: 5}, "tsc": {Value: filepath.Join(dir, "bin", "tsc"), Line: 6},
		"pyright": {Value: "pyright", Line: 7}, "elicit": {Value: filepath.Join(dir, "a.json"), Line: 8}, "workspace": {Value: "/w", Line: 9},
	}
	if diff := cmp.Diff(want, got.Run); err != nil || diff != "" {
		t.Errorf("parseSettings() = %v (-want +got):\n%s", err, diff)
	}
}

// TestPackages: they are no flags, and their paths start at the file's folder.
func TestPackages(t *testing.T) {
	dir := t.TempDir()
	text := "version: 1\nrun:\n  memory: 512\n  packages: {python: wheels, javascript: /l/package-lock.json, preload: [pandas, a.b]}\n"
	got, err := parseSettings(filepath.Join(dir, SettingsName), []byte(text), nil)
	want := Packages{Python: filepath.Join(dir, "wheels"), JavaScript: "/l/package-lock.json", Preload: []string{"pandas", "a.b"}, Line: 4}
	if diff := cmp.Diff(want, got.Packages); err != nil || diff != "" {
		t.Errorf("parseSettings() = %v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff(RunSettings{"memory": {Value: "512", Line: 3}}, got.Run); diff != "" {
		t.Errorf("run settings (-want +got):\n%s", diff)
	}
}
