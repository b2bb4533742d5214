package config

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

// Host is a program with a list of MCP servers. It also stands for the form of its file.
type Host string

// The supported forms of files.
const (
	Project       Host = "project" // .mcp.json, and any other file with an mcpServers object
	ClaudeCode    Host = "claude-code"
	ClaudeDesktop Host = "claude-desktop"
	Cursor        Host = "cursor"
	VSCode        Host = "vscode"
	Windsurf      Host = "windsurf"
	Codex         Host = "codex"
	Gemini        Host = "gemini"
	Zed           Host = "zed"
	OpenCode      Host = "opencode"
)

// Hosts returns every host but [Project], in the order in which their servers are preferred.
func Hosts() []Host {
	var out []Host
	for _, d := range dialects() {
		out = append(out, d.host)
	}
	return out
}

// Folder is where a host's file is.
type Folder int

// The folders: the project's, the user's home folder, the one for settings of programs, and XDG_CONFIG_HOME on all systems but Windows,
// where it is InSettings.
const (
	InProject Folder = iota
	InHome
	InSettings
	InXDG
	InXDGOrSettings
)

// HostFile is a file in which a host keeps servers.
type HostFile struct {
	In Folder
	// Path is the path below the folder, with slashes.
	Path string
	// DirEnv names the variable that holds another folder for the file. It is empty if none does.
	DirEnv string
}

// Files returns the files in which a host keeps servers, in order of precedence.
func (h Host) Files() []HostFile { return dialectOf(h).files }

// dialect is what is special about a host's form of file.
type dialect struct {
	host Host
	// files are the files in which the host keeps servers, in order of precedence.
	files []HostFile
	// root is the key of the servers.
	root string
	// off says how a person switches off a server of their own file in one project. Empty: only the program's settings can do that.
	off string
	// translate converts the host's variables to ours.
	translate func(*translator, string) string
	// fallsBack reports whether the host tries the older SSE transport if a server refuses streamable HTTP.
	fallsBack bool
	// launch returns an entry that starts a program. Nil means {"command": …, "args": […]}.
	launch func(Launch) any
	// keys are the keys that only this host has, or that mean something else in other hosts' files.
	keys map[string]setter
}

// dialects is the table of hosts.
func dialects() []dialect {
	return []dialect{
		{host: ClaudeCode, root: "mcpServers", translate: (*translator).ours, files: []HostFile{
			{In: InProject, Path: FileName}, {In: InHome, Path: ".claude.json", DirEnv: "CLAUDE_CONFIG_DIR"},
		}, off: "start Claude Code here, and disable each in /mcp, which remembers it for this project"},
		{host: ClaudeDesktop, root: "mcpServers", translate: (*translator).literal, files: []HostFile{
			{In: InSettings, Path: "Claude/claude_desktop_config.json"},
		}},
		{host: Cursor, root: "mcpServers", translate: (*translator).editor, fallsBack: true, files: []HostFile{
			{In: InProject, Path: ".cursor/mcp.json"}, {In: InHome, Path: ".cursor/mcp.json"},
		}},
		{host: VSCode, root: "servers", translate: (*translator).editor, fallsBack: true, files: []HostFile{
			{In: InProject, Path: ".vscode/mcp.json"}, {In: InSettings, Path: "Code/User/mcp.json"},
			{In: InSettings, Path: "Code - Insiders/User/mcp.json"}, {In: InHome, Path: ".copilot/mcp-config.json"},
		}, launch: func(l Launch) any {
			return struct {
				Type string `json:"type"`
				Launch
			}{"stdio", l}
		}},
		{host: Windsurf, root: "mcpServers", translate: (*translator).ours, fallsBack: true, files: []HostFile{
			{In: InHome, Path: ".codeium/windsurf/mcp_config.json"},
		}},
		{host: Codex, root: "mcp_servers", translate: (*translator).literal, files: []HostFile{
			{In: InProject, Path: ".codex/config.toml"}, {In: InHome, Path: ".codex/config.toml", DirEnv: "CODEX_HOME"},
		}, off: "for each, write a table [mcp_servers.NAME] with enabled = false to .codex/config.toml; do not check that in, because Codex refuses the table where NAME is not configured"},
		{host: Gemini, root: "mcpServers", translate: (*translator).dollar, files: []HostFile{
			{In: InProject, Path: ".gemini/settings.json"}, {In: InHome, Path: ".gemini/settings.json"},
		}, off: `list their names in .gemini/settings.json, as "mcp": {"excluded": ["NAME"]}`, keys: map[string]setter{"url": (*entry).setSSE, "timeout": into(timeout, (*entry).millis)}},
		{host: Zed, root: "context_servers", translate: (*translator).literal, fallsBack: true, files: []HostFile{
			{In: InProject, Path: ".zed/settings.json"}, {In: InXDGOrSettings, Path: "zed/settings.json"},
		}, keys: map[string]setter{"source": (*entry).setZedSource}},
		{host: OpenCode, root: "mcp", translate: (*translator).braces, fallsBack: true, files: []HostFile{
			{In: InProject, Path: "opencode.json"}, {In: InProject, Path: ".opencode/opencode.json"},
			{In: InProject, Path: "opencode.jsonc"}, {In: InProject, Path: ".opencode/opencode.jsonc"},
			{In: InXDG, Path: "opencode/opencode.json"}, {In: InXDG, Path: "opencode/opencode.jsonc"},
		}, off: `for each, write "NAME": {"enabled": false} below "mcp" in opencode.json`, launch: func(l Launch) any {
			return struct {
				Type    string   `json:"type"`
				Command []string `json:"command"`
			}{"local", append([]string{l.Command}, l.Args...)}
		}, keys: map[string]setter{"command": (*entry).setCommandList, "timeout": into(startup, (*entry).millis)}},
	}
}

// Root returns the key under which the host's file has its servers.
func (h Host) Root() string { return dialectOf(h).root }

// SwitchOff says, for a person, how to switch off a server of their own file in one project.
func (h Host) SwitchOff() string {
	if off := dialectOf(h).off; off != "" {
		return off
	}
	return "disable each in the settings of " + string(h) + ", if it can do that for one project"
}

func dialectOf(h Host) dialect {
	for _, d := range dialects() {
		if d.host == h {
			return d
		}
	}
	return dialect{root: "mcpServers", translate: (*translator).ours}
}

// Launch is a program that a host starts as a server.
type Launch struct {
	Command string   `json:"command" toml:"command"`
	Args    []string `json:"args" toml:"args"`
}

// Entry returns launch in the form of the host's file.
func (h Host) Entry(launch Launch) any {
	if form := dialectOf(h).launch; form != nil {
		return form(launch)
	}
	return launch
}

// detect returns the host whose form a file has, by its content and, if several hosts share the form, by the file's name.
func detect(file string, root node.Node) Host {
	if IsTOML(file) {
		return Codex
	}
	has := func(key string, k node.Kind) bool { v, ok := root.Get(key); return ok && v.Kind == k }
	switch {
	case has("mcpServers", node.KindObject):
		return hostByName(file)
	case has("context_servers", node.KindObject):
		return Zed
	case has("servers", node.KindObject):
		return VSCode
	case has("mcp", node.KindObject):
		return OpenCode
	}
	return hostByName(file)
}

// hostByName returns the host whose file has this name. If several hosts use the name, the folder decides.
func hostByName(file string) Host {
	file = strings.ToLower(filepath.ToSlash(file))
	for _, d := range dialects() {
		for _, f := range d.files {
			name := path.Base(f.Path)
			if name == "mcp.json" || name == "settings.json" {
				name = path.Base(path.Dir(f.Path)) + "/" + name
			}
			if name != FileName && strings.HasSuffix("/"+file, "/"+strings.ToLower(name)) {
				return d.host
			}
		}
	}
	return Project
}

// projectDir returns the project's folder for a file: the file's own folder, or the one above a host's folder such as .vscode.
func projectDir(abs string) string {
	dir := filepath.Dir(abs)
	for _, d := range dialects() {
		for _, f := range d.files {
			if f.In == InProject && path.Dir(f.Path) == strings.ToLower(filepath.Base(dir)) {
				return filepath.Dir(dir)
			}
		}
	}
	return dir
}

// IsTOML reports whether a file is TOML rather than JSON, by its name.
func IsTOML(file string) bool { return strings.EqualFold(filepath.Ext(file), ".toml") }

// rootHint returns a hint if the file has the key under which another host keeps its servers.
func rootHint(root node.Node, want string) string {
	for _, name := range root.Names() {
		if name != want && slices.Contains([]string{"mcpServers", "servers", "mcp", "context_servers", "mcp_servers"}, name) {
			return fmt.Sprintf("; this file has %q, which is another program's form", name)
		}
	}
	return ""
}
