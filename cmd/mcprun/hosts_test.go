package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
)

// start is how a host starts a server.
type start struct {
	Command string
	Args    []string
}

// checkStart checks that a start is one of `mcprun serve` with flags that it has.
func checkStart(t *testing.T, s start) {
	t.Helper()
	args := s.Args
	if s.Command == "npx" && len(args) > 1 && args[0] == "-y" && args[1] == "mcprun" {
		args = args[2:]
	} else if s.Command != "mcprun" && !strings.HasSuffix(s.Command, "/mcprun") {
		t.Errorf("command %q %q does not start mcprun", s.Command, s.Args)
		return
	}
	cmd, rest, err := newRoot(&cli.App{}, resources.Cold{}).Find(args)
	if err != nil || cmd.Name() != "serve" {
		t.Errorf("mcprun %q does not run serve: %v", args, err)
		return
	}
	if err := errors.Join(cmd.ParseFlags(rest), cmd.ValidateArgs(cmd.Flags().Args())); err != nil {
		t.Errorf("mcprun %q: %v", args, err)
	}
}

// readJSON reads a file of the repository.
func readJSON[T any](t *testing.T, path ...string) T {
	t.Helper()
	var v T
	text, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatalf("%s: %v", filepath.Join(path...), err)
	}
	return v
}

// unreleased stands for the version in files that a release fills in.
const unreleased = "0.0.0"

// TestInstallLinks checks that each link of the docs adds what the page says.
func TestInstallLinks(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	claim := regexp.MustCompile("Both links add `([^`]+)`").FindStringSubmatch(string(page))
	if claim == nil {
		t.Fatal("the page does not say what the links add")
	}
	found := regexp.MustCompile(`\]\((https://(?:cursor\.com|insiders\.vscode\.dev)/[^)]+)\)`).FindAllStringSubmatch(string(page), -1)
	if len(found) != 2 {
		t.Fatalf("found %d links, want one for Cursor and one for VS Code", len(found))
	}
	for _, link := range found {
		to, err := url.Parse(link[1])
		if err != nil {
			t.Fatal(err)
		}
		var s struct {
			start
			Name string
		}
		var config []byte
		if to.Host == "cursor.com" {
			s.Name = to.Query().Get("name")
			config, err = base64.StdEncoding.DecodeString(to.Query().Get("config"))
		} else {
			inner, _ := strings.CutPrefix(to.Query().Get("url"), "vscode:mcp/install?")
			inner, err = url.QueryUnescape(inner)
			config = []byte(inner)
		}
		if err := errors.Join(err, json.Unmarshal(config, &s)); err != nil {
			t.Errorf("%s: %v", to.Host, err)
			continue
		}
		if got := strings.Join(append([]string{s.Command}, s.Args...), " "); s.Name != "mcprun" || got != claim[1] {
			t.Errorf("%s adds %q as %q, want %q as mcprun", to.Host, got, s.Name, claim[1])
		}
		checkStart(t, s.start)
	}
}

// TestRegistryEntry checks server.json, the entry in the MCP registry, against what it names.
func TestRegistryEntry(t *testing.T) {
	type argument struct{ Type, Name, Value string }
	entry := readJSON[struct {
		Name, Description, Version string
		Packages                   []struct {
			RegistryType, Identifier, Version string
			PackageArguments                  []argument
		}
	}](t, "server.json")
	if len(entry.Description) > 100 || entry.Version != unreleased {
		t.Errorf("description of %d bytes, want at most 100; version %s, want %s", len(entry.Description), entry.Version, unreleased)
	}
	var kinds []string
	for _, p := range entry.Packages {
		kinds = append(kinds, p.RegistryType)
		s := start{Command: "mcprun"}
		for _, a := range p.PackageArguments {
			s.Args = append(s.Args, a.Name+a.Value)
			if a.Type == "named" {
				s.Args = append(s.Args, "folder")
			}
		}
		checkStart(t, s)
		switch p.RegistryType {
		case "npm":
			if p.Identifier != "mcprun" || p.Version != unreleased {
				t.Errorf("npm package %s %s, want mcprun %s", p.Identifier, p.Version, unreleased)
			}
			pkg := readJSON[struct{ Name, MCPName string }](t, "deploy", "npm", p.Identifier, "package.json")
			if pkg.Name != p.Identifier || pkg.MCPName != entry.Name {
				t.Errorf("npm package %s is of %q, want %s of %s", pkg.Name, pkg.MCPName, p.Identifier, entry.Name)
			}
		case "oci":
			if p.Identifier != "ghcr.io/mcpgen/mcprun:"+unreleased {
				t.Errorf("image %s, want %q", p.Identifier, "ghcr.io/mcpgen/mcprun:"+unreleased)
			}
			dockerfile, err := os.ReadFile("../../deploy/image/Dockerfile")
			if label := `io.modelcontextprotocol.server.name="` + entry.Name + `"`; err != nil || !strings.Contains(string(dockerfile), label) {
				t.Errorf("the image has no label %s: %v", label, err)
			}
		}
	}
	if !slices.Equal(kinds, []string{"npm", "oci"}) {
		t.Errorf("packages of %q, want npm and oci", kinds)
	}
}

func TestClaudePlugin(t *testing.T) {
	market := readJSON[struct {
		Name    string
		Plugins []struct{ Name, Source string }
	}](t, ".claude-plugin", "marketplace.json")
	if len(market.Plugins) != 1 {
		t.Fatalf("%d plugins, want 1", len(market.Plugins))
	}
	name, source := market.Plugins[0].Name, market.Plugins[0].Source
	plugin := readJSON[struct{ Name string }](t, source, ".claude-plugin", "plugin.json")
	if plugin.Name != name {
		t.Errorf("plugin %q is %q in the marketplace", plugin.Name, name)
	}
	page, err := os.ReadFile("../../docs/how-to/claude-code.md")
	if install := "/plugin install " + name + "@" + market.Name; err != nil || !strings.Contains(string(page), install) {
		t.Errorf("the docs do not say %q: %v", install, err)
	}
	servers := readJSON[struct{ MCPServers map[string]start }](t, source, ".mcp.json").MCPServers
	if len(servers) != 1 {
		t.Errorf("the plugin has servers %v, want one", servers)
	}
	for _, s := range servers {
		checkStart(t, s)
	}
	// An installed plugin is a copy of its folder, so the skill cannot be outside of it.
	const skill = "skills/mcp-progressive-discovery/SKILL.md"
	want, err := os.ReadFile("../../" + skill)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join("../..", source, skill)); err != nil || string(got) != string(want) {
		t.Errorf("the plugin's skill is another one than %s: cp %s %s, want string(got) %v and no error", skill, skill, filepath.Join(source, skill), string(want))
	}
}

func TestBundle(t *testing.T) {
	manifest := readJSON[struct {
		Name, Version string
		Server        struct {
			EntryPoint string `json:"entry_point"`
			Config     start  `json:"mcp_config"`
		}
		Tools      []struct{ Name string }
		UserConfig map[string]any `json:"user_config"`
	}](t, "deploy", "mcpb", "manifest.json")
	s := manifest.Server
	if manifest.Version != unreleased || s.Config.Command != "${__dirname}/"+s.EntryPoint {
		t.Errorf("version %s, want %s; command %q of program %q", manifest.Version, unreleased, s.Config.Command, s.EntryPoint)
	}
	checkStart(t, s.Config)
	for _, arg := range s.Config.Args {
		if key, ok := strings.CutPrefix(arg, "${user_config."); ok && manifest.UserConfig[strings.TrimSuffix(key, "}")] == nil {
			t.Errorf("nobody is asked for %s", arg)
		}
	}
	page, err := os.ReadFile("../../docs/reference/serve.md")
	for _, tool := range manifest.Tools {
		if err != nil || !strings.Contains(string(page), "| `"+tool.Name+"`") {
			t.Errorf("the docs have no tool %s: %v, want %q in it and no error", tool.Name, err, "| `"+tool.Name+"`")
		}
	}
}
